/**
 * @file The report as one HTML file with plots: nothing is fetched, and it is read in light and dark.
 */
import type { CompileOutcome } from '../compile-time/measure.js';
import type { Outcome, WorkloadOutcome } from '../harness/outcome.js';
import { type Bar, type BarPlot, loadBarPlot } from '../../../../tooling/plots.js';
import type { EngineReport, Report } from './report.js';
import { formatRate, formatTime } from './table.js';

const STYLE = `
:root { color-scheme: light dark; --own: #2563eb; --peer: #a3a3a3; --line: #d4d4d4; }
@media (prefers-color-scheme: dark) { :root { --own: #60a5fa; --peer: #737373; --line: #404040; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0.5rem 0 1.5rem; display: block; overflow-x: auto; }
th, td { padding: 0.15rem 0.75rem; border-bottom: 1px solid var(--line); text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { max-width: 100%; height: auto; }
`;

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
};

function escaped(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => ENTITIES[character]!);
}

/** A table; cells from the second column on are numbers. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const headers = head.map((cell) => `<th scope="col">${escaped(cell)}</th>`).join('');
  const body = rows.map(([name = '', ...cells]) => {
    const numbers = cells.map((cell) => `<td class="number">${escaped(cell)}</td>`).join('');
    return `<tr><th scope="row">${escaped(name)}</th>${numbers}</tr>`;
  });
  return `<table><thead><tr>${headers}</tr></thead><tbody>${body.join('')}</tbody></table>`;
}

function barOf(outcome: Outcome): Bar[] {
  if (outcome.status === 'ok') {
    const { engine, time, ratio } = outcome;
    const times = ratio === null ? '' : `, ${ratio.median.toFixed(2)}×`;
    return [
      {
        name: engine,
        value: time.median,
        low: time.min,
        high: time.max,
        label: `${formatTime(time.median)}${times}`,
        own: engine === 'tessera',
      },
    ];
  }
  if (outcome.status !== 'recorded') return [];
  const { engine, medianUs, ratio } = outcome;
  const times = ratio === null ? '' : `, ${ratio.toFixed(2)}×`;
  const label = `${formatTime(medianUs)}${times}, elsewhere`;
  return [{ name: engine, value: medianUs, label, own: false }];
}

function rowOf(outcome: Outcome, { work }: WorkloadOutcome): string[] {
  if (outcome.status === 'ok') {
    const { engine, time, ratio, firstCallMs } = outcome;
    return [
      engine,
      formatTime(time.median),
      formatRate(work, time.median),
      ratio?.median.toFixed(2) ?? '',
      firstCallMs === null ? '' : formatTime(firstCallMs * 1000),
      `${(time.spread * 100).toFixed(0)} %`,
    ];
  }
  if (outcome.status === 'recorded') {
    const { engine, medianUs, ratio, hardware } = outcome;
    return [
      engine,
      formatTime(medianUs),
      formatRate(work, medianUs),
      ratio?.toFixed(2) ?? '',
      '',
      hardware,
    ];
  }
  return [outcome.engine, outcome.status, '', '', '', outcome.reason];
}

function workloadSection(workload: WorkloadOutcome, barPlot: BarPlot): string {
  const { name, about, shapes, outcomes } = workload;
  const bars = outcomes.flatMap(barOf);
  const head = ['engine', 'time', 'rate', '× tessera', 'first call', 'spread'];
  return [
    `<h2>${escaped(name)}</h2><p>${escaped(about)}; ${escaped(shapes)}.</p>`,
    ...(bars.length === 0 ? [] : [barPlot(`Times of ${name}`, 'µs', bars)]),
    table(
      head,
      outcomes.map((outcome) => rowOf(outcome, workload)),
    ),
  ].join('\n');
}

function compilationSection(compilations: readonly CompileOutcome[], barPlot: BarPlot): string {
  if (compilations.length === 0) return '';
  const bars = compilations.map(({ name, wallMs }): Bar => ({
    name,
    value: wallMs.median,
    low: wallMs.min,
    high: wallMs.max,
    label: `${wallMs.median.toFixed(0)} ms`,
    own: true,
  }));
  const rows = compilations.map(({ name, wallMs, graphs, nodes, kernels }) => [
    name,
    `${wallMs.median.toFixed(0)} ms`,
    ...[graphs, nodes, kernels].map(String),
  ]);
  return [
    '<h2>First calls</h2><p>Of a fresh process, with all that compiles.</p>',
    barPlot('Times of first calls', 'ms', bars),
    table(['model', 'first call', 'graphs', 'nodes', 'kernels'], rows),
  ].join('\n');
}

function engineRow({ name, versions, threads, hardware, unavailable }: EngineReport): string[] {
  if (unavailable !== null) return [name, '', '', unavailable];
  const names = Object.entries(versions).map(([key, version]) => `${key} ${version}`);
  return [name, names.join(', '), String(threads), hardware ?? ''];
}

/** The whole report. */
export async function htmlReport(report: Report): Promise<string> {
  const barPlot = await loadBarPlot();
  const { date, device, threads, rounds, quick, environment, engines } = report;
  const { cpu, cores, memoryGiB, platform, node } = environment;
  const facts = [
    date.slice(0, 10),
    `${device}, ${threads} threads, ${rounds} rounds${quick ? ', small sizes' : ''}`,
    `${cpu}, ${cores} hardware threads, ${memoryGiB} GiB`,
    `${platform}, Node ${node}`,
  ];
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Tessera bench, ${escaped(date.slice(0, 10))}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Tessera bench</h1>
<p>${facts.map(escaped).join('<br>')}</p>
${table(['engine', 'versions', 'threads', 'hardware'], engines.map(engineRow))}
${report.workloads.map((workload) => workloadSection(workload, barPlot)).join('\n')}
${compilationSection(report.compilations, barPlot)}
</main>
</body>
</html>
`;
}
