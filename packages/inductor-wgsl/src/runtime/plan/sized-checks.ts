/** @file `SizedChecks`: the checks of a program, which have numbers for each choice of the sizes that they name. */
import { checkAt } from '@tessera/inductor-core';
import { type Size, SymInt } from '@tessera/shared';
import type { WgslProgram } from '../../codegen/wgsl-program.js';
import type { CheckReport } from '../device/check-report.js';
import type { ScalarBlocks } from './scalar-blocks.js';

/** See the file header. */
export class SizedChecks {
  private readonly isStatic: boolean;
  private last: readonly number[] | null = null;
  private first = 0;

  constructor(
    private readonly program: Pick<WgslProgram, 'checks'>,
    private readonly report: CheckReport,
    private readonly blocks: ScalarBlocks,
  ) {
    this.isStatic = program.checks.every(
      (check) => !Object.values(check).some((value) => value instanceof SymInt),
    );
  }

  /** The device's number of the first one where the program of sizes computed this. */
  firstAt(computed: readonly number[]): number {
    if (this.last === computed || (this.isStatic && this.last !== null)) return this.first;
    this.last = computed;
    const valueOf = (size: Size): number => this.blocks.valueOf(size, computed);
    this.first = this.report.firstNumber(
      this.program.checks.map((check) => checkAt(check, valueOf)),
    );
    return this.first;
  }
}
