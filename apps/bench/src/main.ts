/**
 * @file `pnpm bench`: times workloads compiled by Tessera, side by side with peers.
 */
import { writeFileSync } from 'node:fs';
import { isTesseraError } from '@tessera/shared';
import { asksForCompiler, compilerReport } from './compiler/index.js';
import { COMPILE_TIME_PROCESS, compileTimeProcess } from './compile-time/measure.js';
import { GPT2_RANK, type Gpt2Task, gpt2Rank } from './distributed/gpt2-rank.js';
import { GPT2_DATA_PARALLEL, gpt2Report } from './distributed/gpt2-report.js';
import { DISTRIBUTED_RANK, distributedRank } from './distributed/rank.js';
import { DISTRIBUTED, distributedReport } from './distributed/report.js';
import { TRAINING_RANK, trainingRank } from './distributed/training.js';
import { EARLY_CALLS_PROCESS, measureEarlyCalls } from './tracer/early-calls.js';
import { GENERATE, generateReport } from './generate/generate-bench.js';
import { generateTable } from './generate/generate-table.js';
import { CARD, cardReport, cardTable } from './card/card-bench.js';
import { GPU_STEADY, steadyReport } from './gpu/steady.js';
import { DYNAMIC, dynamicReport } from './dynamic/dynamic-bench.js';
import { LAYOUT, layoutReport } from './layout/layout-bench.js';
import { FRAMES, framesReport } from './frames/frames-bench.js';
import { FIRST_CALL_PROCESS, firstCallProcess } from './harness/first-call.js';
import { isFailure } from './harness/outcome.js';
import { TILES, tilesReport, tilesTable } from './tiles/tiles-bench.js';
import { readOptions } from './options.js';
import { htmlReport } from './report/html-report.js';
import { formatReport } from './report/table.js';
import { runBenchmark } from './run.js';

/** A line that says what is going on, overwritten in a terminal and left out elsewhere. */
function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[2K${text}`);
}

async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === FIRST_CALL_PROCESS) return firstCallProcess(argv[1]!);
  if (asksForCompiler(argv)) {
    process.stdout.write(`${JSON.stringify(compilerReport(argv), null, 1)}\n`);
    return 0;
  }
  if (argv[0] === EARLY_CALLS_PROCESS) {
    process.stdout.write(JSON.stringify(measureEarlyCalls(argv[1]!)));
    return 0;
  }
  if (argv[0] === DISTRIBUTED_RANK) return distributedRank(argv.includes('--quick'));
  if (argv[0] === TRAINING_RANK) {
    const [threads, batch, rounds] = argv.slice(1).map(Number) as [number, number, number];
    return trainingRank(threads, batch, rounds);
  }
  if (argv[0] === DISTRIBUTED) {
    process.stdout.write(`${JSON.stringify(distributedReport(argv.slice(1)), null, 1)}\n`);
    return 0;
  }
  if (argv[0] === GPT2_RANK) return gpt2Rank(JSON.parse(argv[1]!) as Gpt2Task);
  if (argv[0] === GPT2_DATA_PARALLEL) {
    process.stdout.write(`${JSON.stringify(gpt2Report(argv.slice(1)), null, 1)}\n`);
    return 0;
  }
  if (argv[0] === GPU_STEADY) {
    process.stdout.write(`${JSON.stringify(await steadyReport(argv.slice(1)), null, 1)}\n`);
    return 0;
  }
  if (argv[0] === CARD) {
    const report = await cardReport(argv.slice(1));
    process.stderr.write(`${cardTable(report)}\n`);
    process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
    return report.rows.some(({ error }) => error !== undefined) ? 1 : 0;
  }
  if (argv[0] === TILES) {
    const report = await tilesReport(argv.slice(1));
    process.stderr.write(`${tilesTable(report)}\n`);
    process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
    return 0;
  }
  if (argv[0] === DYNAMIC) {
    process.stdout.write(`${JSON.stringify(await dynamicReport(argv.slice(1)), null, 1)}\n`);
    return 0;
  }
  if (argv[0] === GENERATE) {
    const report = await generateReport(argv.slice(1));
    process.stderr.write(`${generateTable(report)}\n`);
    process.stdout.write(`${JSON.stringify(report, null, 1)}\n`);
    return 0;
  }
  if (argv[0] === LAYOUT) {
    process.stdout.write(`${JSON.stringify(await layoutReport(argv.slice(1)), null, 1)}\n`);
    return 0;
  }
  if (argv[0] === FRAMES) {
    process.stdout.write(`${JSON.stringify(await framesReport(argv.slice(1)), null, 1)}\n`);
    return 0;
  }
  if (argv[0] === COMPILE_TIME_PROCESS) return compileTimeProcess(argv[1]!);
  const command = readOptions(argv);
  if ('print' in command) {
    process.stdout.write(`${command.print}\n`);
    return 0;
  }
  const { json, html } = command.run;
  const report = await runBenchmark(command.run, progress);
  progress('');
  const text = `${formatReport(report)}\n`;
  const jsonText = `${JSON.stringify(report, null, 1)}\n`;
  if (json === '-') {
    process.stderr.write(text);
    process.stdout.write(jsonText);
  } else {
    process.stdout.write(text);
    if (json !== null) writeFileSync(json, jsonText);
  }
  if (html !== null) {
    writeFileSync(html, await htmlReport(report));
  }
  return report.workloads.some(({ outcomes }) => outcomes.some(isFailure)) ? 1 : 0;
}

let code: number;
try {
  code = await main(process.argv.slice(2));
} catch (error) {
  const isUsage = (error as { code?: string }).code?.startsWith('ERR_PARSE_ARGS') ?? false;
  console.error(isUsage || isTesseraError(error) ? (error as Error).message : error);
  code = 1;
}
// Worker threads of the engines would keep the process alive; what was written must be out first.
process.exitCode = code;
await Promise.all(
  [process.stdout, process.stderr].map(
    (s) => new Promise<void>((done) => s.write('', () => done())),
  ),
);
process.exit();
