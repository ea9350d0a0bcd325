/**
 * @file Compute pipelines by WGSL text and which bindings move, shared by all plans.
 */
import { TesseraError } from '@tessera/shared';
import type { WgslProgram } from '../codegen/program.js';
import { describeError, type GpuContext } from './gpu-context.js';
import { STAGE_COMPUTE } from './gpu-flags.js';

/** A pipeline with the layout that its bind groups need. */
export interface CompiledPipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** See the file header. */
export class PipelineCache {
  private readonly pipelines = new Map<string, CompiledPipeline>();
  private readonly layouts = new Map<string, GPUBindGroupLayout>();

  constructor(
    private readonly context: GpuContext,
    private readonly uniforms: GPUBindGroupLayout,
  ) {}

  /** Number of pipelines made so far. */
  get size(): number {
    return this.pipelines.size;
  }

  /**
   * The pipeline of a program. A rejected shader is reported by a later call, naming `kernel`.
   *
   * @param dynamic which bindings take a dynamic offset; none if absent
   */
  get(
    program: WgslProgram,
    kernel: string,
    dynamic: readonly boolean[] | null = null,
  ): CompiledPipeline {
    const key =
      dynamic === null
        ? program.text
        : `// dynamic: ${dynamic.map(Number).join()}\n${program.text}`;
    const found = this.pipelines.get(key);
    if (found !== undefined) return found;
    const { device } = this.context;
    const layout = this.storageLayout(
      program.slots.map((slot) => slot.access),
      dynamic,
    );
    const layouts = program.uniforms.length > 0 ? [layout, this.uniforms] : [layout];
    const pipeline = this.context.watch(
      'validation',
      () =>
        device.createComputePipeline({
          layout: device.createPipelineLayout({ bindGroupLayouts: layouts }),
          compute: {
            module: device.createShaderModule({ code: program.text, label: kernel }),
            entryPoint: 'main',
          },
          label: kernel,
        }),
      (error) => rejected(kernel, program.text, error),
    );
    const compiled = { pipeline, layout };
    this.pipelines.set(key, compiled);
    return compiled;
  }

  private storageLayout(
    access: readonly ('read' | 'read_write')[],
    dynamic: readonly boolean[] | null,
  ): GPUBindGroupLayout {
    const key = access.map((kind, i) => (dynamic?.[i] ? `${kind} dynamic` : kind)).join();
    let layout = this.layouts.get(key);
    if (layout === undefined) {
      layout = this.context.device.createBindGroupLayout({
        entries: access.map((kind, binding) => ({
          binding,
          visibility: STAGE_COMPUTE,
          buffer: {
            type: kind === 'read' ? 'read-only-storage' : 'storage',
            hasDynamicOffset: dynamic?.[binding] ?? false,
          },
        })),
      });
      this.layouts.set(key, layout);
    }
    return layout;
  }
}

function rejected(kernel: string, text: string, error: GPUError): TesseraError {
  const plain = describeError(error, `kernel '${kernel}'`);
  return new TesseraError(plain.code, `WebGPU rejected kernel '${kernel}': ${error.message}`, {
    context: { kernel, wgsl: text },
    hints: plain.hints,
    cause: error,
  });
}
