/**
 * @file What a terminal shows of a training run: the curve of the loss so far and a bar, drawn over and over. Where the
 * output is a file or a pipe, a line for each report.
 */
import process from 'node:process';
import { createLogUpdate } from 'log-update';
import { plot } from 'simple-ascii-chart';

/** How it goes at a step, counted from 1. */
export interface Report {
  readonly step: number;
  readonly loss: number;
  readonly lr: number;
  readonly msPerStep: number;
}

const CHART = { width: 60, height: 10 };
const BAR = 30;

/** A report as a line. */
export function lineOf({ step, loss, lr, msPerStep }: Report): string {
  return `step ${step}: loss ${loss.toFixed(4)}, lr ${lr.toExponential(2)}, ${msPerStep.toFixed(1)} ms/step`;
}

/** Losses by step, at most one for each column: means of neighbours. */
export function curveOf(
  reports: readonly Report[],
  columns: number,
): [step: number, loss: number][] {
  const each = Math.ceil(reports.length / columns);
  const points: [number, number][] = [];
  for (let i = 0; i < reports.length; i += each) {
    const group = reports.slice(i, i + each);
    points.push([
      group.at(-1)!.step,
      group.reduce((sum, { loss }) => sum + loss, 0) / group.length,
    ]);
  }
  return points;
}

/** The picture after some reports. */
export function pictureOf(reports: readonly Report[], steps: number): string {
  const last = reports.at(-1)!;
  const done = Math.round((last.step / steps) * BAR);
  const secondsLeft = ((steps - last.step) * last.msPerStep) / 1000;
  const bar = `${'█'.repeat(done)}${'░'.repeat(BAR - done)}`;
  const points = curveOf(reports, CHART.width);
  const chart = points.length < 2 ? [] : [plot(points, { ...CHART, title: 'loss' }).trimEnd()];
  return [
    ...chart,
    `${bar} ${last.step}/${steps}, ${secondsLeft.toFixed(0)} s left`,
    lineOf(last),
  ].join('\n');
}

/** Shows reports as they come. */
export class Progress {
  private readonly reports: Report[] = [];
  private readonly draw: ReturnType<typeof createLogUpdate> | null;

  constructor(
    private readonly steps: number,
    private readonly output: NodeJS.WriteStream = process.stdout,
  ) {
    // A terminal without a size is one that nobody looks at.
    this.draw = output.isTTY && output.columns > 0 ? createLogUpdate(output) : null;
  }

  report(report: Report): void {
    this.reports.push(report);
    if (this.draw === null) this.output.write(`${lineOf(report)}\n`);
    else this.draw(pictureOf(this.reports, this.steps));
  }

  /** Leaves the last picture where it is. */
  finish(): void {
    this.draw?.done();
  }
}
