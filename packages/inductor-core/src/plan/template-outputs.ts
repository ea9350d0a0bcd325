/**
 * @file `TemplateOutputs`: the layouts of a template's outputs, as slots of the program that computes its sizes.
 */
import type { SizeProgram } from '@tessera/shared';
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

  /** The layouts where the program computes this. One function: it seldom runs, so nothing inlines what it calls. */
  at(computed: readonly number[]): readonly TensorMeta[] {
    const { outputs, device } = this;
    const metas: TensorMeta[] = [];
    for (let i = 0; i < outputs.length; i++) {
      const output = outputs[i]!;
      const sizes: number[] = [];
      const strides: number[] = [];
      for (let d = 0; d < output.sizes.length; d++) {
        sizes.push(computed[output.sizes[d]!]!);
        strides.push(computed[output.strides[d]!]!);
      }
      metas.push({ dtype: output.dtype, device, sizes, strides });
    }
    return metas;
  }
}
