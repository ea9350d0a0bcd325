/**
 * @file The page of figures: what `pnpm bench` and `pnpm bench card` measured, as plots. No figure is written here; they come
 * from the JSON files that the programs printed.
 */
import { type Bar, type BarPlot, loadBarPlot } from '../../../../tooling/plots.js';
import type { Markdown } from './markdown.js';
import { type Page, escapeHtml } from './page.js';
import { textOf } from './repository-files.js';

/** Of `apps/bench/src/report`: an engine's result. */
interface Outcome {
  readonly engine: string;
  readonly status: string;
  readonly time?: { readonly median: number; readonly min: number; readonly max: number };
  readonly ratio?: { readonly median: number } | null;
  readonly reason?: string;
}

/** What `pnpm bench --json` writes, as far as it is shown. */
interface CpuReport {
  readonly date: string;
  readonly threads: number;
  readonly rounds: number;
  readonly environment: { readonly cpu: string; readonly node: string };
  readonly engines: readonly {
    readonly name: string;
    readonly versions: Readonly<Record<string, string>>;
  }[];
  readonly workloads: readonly {
    readonly name: string;
    readonly about: string;
    readonly shapes: string;
    readonly outcomes: readonly Outcome[];
  }[];
}

/** What `pnpm bench card` prints, as far as it is shown. */
interface CardReport {
  readonly date: string;
  readonly torch: { readonly version: string; readonly device: string };
  readonly rows: readonly {
    readonly name: string;
    readonly about: string;
    readonly microseconds?: number;
    readonly awaitedMicroseconds?: number;
    readonly torchEager: number | null;
    readonly torchCompiled: number | null;
    readonly ratio?: number;
    readonly error?: string;
  }[];
}

function readJson<T>(name: string): T {
  return JSON.parse(textOf(`apps/bench/data/${name}`)) as T;
}

/** A time with a unit that keeps it between 1 and 1000. */
function timeOf(us: number): string {
  const [value, unit] = us < 1000 ? [us, 'µs'] : us < 1e6 ? [us / 1000, 'ms'] : [us / 1e6, 's'];
  return `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]): string =>
    row
      .map((cell, i) =>
        i === 0
          ? `<th scope="row">${escapeHtml(cell)}</th>`
          : `<td class="number">${escapeHtml(cell)}</td>`,
      )
      .join('');
  const headers = head.map((cell) => `<th scope="col">${escapeHtml(cell)}</th>`).join('');
  const body = rows.map((row) => `<tr>${cells(row)}</tr>`).join('');
  return `<div class="table" tabindex="0" role="group" aria-label="Table"><table><thead><tr>${headers}</tr></thead><tbody>${body}</tbody></table></div>`;
}

/** Engines' times of each workload, as bars. */
function cpuPlots({ workloads }: CpuReport, barPlot: BarPlot): string {
  return workloads
    .map(({ name, about, shapes, outcomes }) => {
      const bars = outcomes.flatMap(({ engine, time, ratio }): Bar[] => {
        if (time === undefined) return [];
        const times = ratio === null || ratio === undefined ? '' : `, ${ratio.median.toFixed(2)}×`;
        const { median: value, min: low, max: high } = time;
        const label = `${timeOf(value)}${times}`;
        return [{ name: engine, value, low, high, label, own: engine === 'tessera' }];
      });
      const missing = outcomes.filter(({ time }) => time === undefined);
      const notes = missing.map(({ engine, reason = '' }) => escapeHtml(`${engine}: ${reason}.`));
      return [
        `<h3>${escapeHtml(name)}</h3><p>${escapeHtml(`${about}; ${shapes}.`)}</p>`,
        `<div class="plot">${barPlot(`Times of ${name} by engine`, 'µs', bars)}</div>`,
        ...(notes.length === 0 ? [] : [`<p class="muted">${notes.join(' ')}</p>`]),
      ].join('\n');
    })
    .join('\n');
}

/** The time of each row over PyTorch's best, as bars and as a table. */
function cardPlot({ rows }: CardReport, barPlot: BarPlot): string {
  const measured = rows.filter(({ ratio }) => ratio !== undefined);
  const bars = [...measured]
    .sort((a, b) => a.ratio! - b.ratio!)
    .map(({ name, ratio, microseconds }): Bar => ({
      name,
      value: ratio!,
      label: `${ratio!.toFixed(2)}×, ${timeOf(microseconds!)}`,
      own: ratio! <= 1,
    }));
  const shown = (us: number | null | undefined): string =>
    us === null || us === undefined ? '–' : timeOf(us);
  return [
    `<div class="plot">${barPlot("Times over PyTorch's best", "times PyTorch's best", bars)}</div>`,
    table(
      ['workload', 'in flight', 'awaited', 'PyTorch eager', 'compiled', 'what'],
      rows.map((row) => [
        row.name,
        row.error ?? shown(row.microseconds),
        shown(row.awaitedMicroseconds),
        shown(row.torchEager),
        shown(row.torchCompiled),
        row.about,
      ]),
    ),
  ].join('\n');
}

const dayOf = (date: string): string => date.slice(0, 10);

/** The page. */
export async function speedPage(markdown: Markdown): Promise<Page> {
  const barPlot = await loadBarPlot();
  const cpu = readJson<CpuReport>('cpu.json');
  const card = readJson<CardReport>('card-h200.json');
  const versions = cpu.engines
    .flatMap(({ versions: own }) =>
      Object.entries(own).map(([name, version]) => `${name} ${version}`),
    )
    .join(', ');
  const cpuFacts = `Measured on ${dayOf(cpu.date)}: ${cpu.environment.cpu}, ${cpu.threads} threads, Node ${cpu.environment.node}; ${versions}. Medians of ${cpu.rounds} samples that take turns, with the fastest and the slowest; behind each the factor to Tessera.`;
  const cardFacts = `Measured on ${dayOf(card.date)} with many calls in flight on one ${card.torch.device}, beside PyTorch ${card.torch.version} on the same kind of card: the better of eager and \`torch.compile\`. Below 1 Tessera is faster.`;
  return {
    path: 'speed.html',
    title: 'Speed',
    description: 'Measured times beside peers, with the machine and the versions.',
    layout: 'wide',
    body: `<h1>Speed</h1>
<p class="lead">Measured, with the machine. <code>pnpm bench --peers all --html report.html</code> measures yours: it takes turns
between engines and checks every result against double precision before it times it.</p>
<h2>WebAssembly on a CPU, beside its peers</h2>
${markdown.render(cpuFacts).html}
${cpuPlots(cpu, barPlot)}
<h2>WebGPU on a large card, beside PyTorch</h2>
${markdown.render(cardFacts).html}
${cardPlot(card, barPlot)}
<p class="muted">Bars of more than 30 times the shortest are cut.</p>`,
  };
}
