/**
 * @file The page of figures: tables of the repository's documents, as bars where they hold times beside peers. No figure is
 * written here; each table says where it was measured and where it stands.
 */
import type { Markdown } from './markdown.js';
import { type Page, escapeHtml } from './page.js';
import { textOf } from './repository-files.js';

/** A section of a document: its text from a heading to the next one of the same depth. */
function sectionOf(file: string, heading: string): string {
  const text = textOf(file);
  const at = text.indexOf(`\n## ${heading}\n`);
  if (at < 0) throw new Error(`${file} has no section '${heading}'.`);
  const start = at + heading.length + 5;
  const end = text.indexOf('\n## ', start);
  return text.slice(start, end < 0 ? undefined : end).trim();
}

/** Cells of the table in a section, row by row, the head first. */
function tableOf(section: string): string[][] {
  const rows = section.split('\n').filter((line) => line.startsWith('|'));
  return rows
    .filter((line) => !/^\|[\s|:-]+$/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}

/** Longest bar that is drawn in full; longer ones are cut and say so by their number. */
const LONGEST = 32;

/** How many times longer each peer takes, as bars; 1 is Tessera. */
function barsOf(table: readonly (readonly string[])[]): string {
  const [head, ...rows] = table;
  const peers = head!.slice(2);
  const width = (ratio: number): string => ((Math.min(LONGEST, ratio) / LONGEST) * 100).toFixed(1);
  return rows
    .map(([workload, time, ...ratios]) => {
      const bars = [['Tessera', '1'], ...ratios.map((ratio, i) => [peers[i]!, ratio])]
        .filter(([, ratio]) => Number.isFinite(Number(ratio)))
        .map(
          ([name, ratio], i) =>
            `<tr><th scope="row">${escapeHtml(name!)}</th><td class="number">${ratio}</td><td class="bar"><svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect class="${i === 0 ? 'own' : 'peer'}" width="${width(Number(ratio))}" height="4"/></svg></td></tr>`,
        );
      return `<h3>${escapeHtml(workload!)} <span class="muted">${escapeHtml(time!)}</span></h3><table class="bars"><tbody>${bars.join('')}</tbody></table>`;
    })
    .join('\n');
}

/** Paragraphs of a section that are no table. */
function proseOf(section: string): string {
  return section
    .split('\n')
    .filter((line) => !line.startsWith('|'))
    .join('\n');
}

/** The page. */
export function speedPage(markdown: Markdown): Page {
  const beside = sectionOf('README.md', 'Speed');
  const gpu = sectionOf('packages/inductor-wgsl/README.md', 'Measured');
  return {
    path: 'speed.html',
    title: 'Speed',
    description: 'Measured times beside peers, with the machine and the versions.',
    layout: 'wide',
    body: `<h1>Speed</h1>
<p class="lead">Measured, with the machine. <code>pnpm bench --peers all</code> measures yours: it takes turns between
engines and checks every result against double precision before it times it.</p>
<h2>WebAssembly on a CPU, beside its peers</h2>
${markdown.render(proseOf(beside)).html}
${barsOf(tableOf(beside))}
<p class="muted">From the README of the repository, measured in November 2026. Bars longer than ${LONGEST} are cut.</p>
<h2>WebGPU on a large card, beside PyTorch</h2>
${markdown.render(gpu).html}
<p class="muted">From the README of <code>@tessera/inductor-wgsl</code>, measured in November 2026.</p>`,
  };
}
