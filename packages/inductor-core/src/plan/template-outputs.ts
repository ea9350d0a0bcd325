/**
 * @file `TemplateOutputs`: the layouts of a template's outputs, as slots of the program that computes its sizes.
 */
import { type SizeProgram, numbersIn } from '@tessera/shared';
import type { DType, DeviceType, TensorMeta } from '@tessera/tensor';
import type { PlanTemplate } from './plan-template.js';

/** The layout of an output, in slots. */
interface SlottedOutput {
  readonly dtype: DType;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** See the file header. */
export class TemplateOutputs {
  private readonly outputs: readonly SlottedOutput[];

  constructor(
    { outputs }: Pick<PlanTemplate, 'outputs'>,
    program: SizeProgram,
    private readonly device: DeviceType,
  ) {
    this.outputs = outputs.map(({ dtype, sizes, strides }) => ({
      dtype,
      sizes: sizes.map((size) => program.slot(size)),
      strides: strides.map((size) => program.slot(size)),
    }));
  }

  /** The layouts where the program computes this. */
  at(computed: readonly number[]): readonly TensorMeta[] {
    const { outputs, device } = this;
    const metas: TensorMeta[] = [];
    for (let i = 0; i < outputs.length; i++) {
      const { dtype, sizes, strides } = outputs[i]!;
      metas.push({
        dtype,
        device,
        sizes: numbersIn(sizes, computed),
        strides: numbersIn(strides, computed),
      });
    }
    return metas;
  }
}
