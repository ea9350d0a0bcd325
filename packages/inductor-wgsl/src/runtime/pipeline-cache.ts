/**
 * @file Compute pipelines by WGSL text and binding layout, shared by all plans.
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

  /** The pipeline of a program. A rejected shader is reported by a later call, naming `kernel`. */
  get(program: WgslProgram, kernel: string): CompiledPipeline {
    const found = this.pipelines.get(program.text);
    if (found !== undefined) return found;
    const { device } = this.context;
    const layout = this.storageLayout(program.slots.map((slot) => slot.access));
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
    this.pipelines.set(program.text, compiled);
    return compiled;
  }

  private storageLayout(access: readonly ('read' | 'read_write')[]): GPUBindGroupLayout {
    const key = access.join();
    let layout = this.layouts.get(key);
    if (layout === undefined) {
      layout = this.context.device.createBindGroupLayout({
        entries: access.map((kind, binding) => ({
          binding,
          visibility: STAGE_COMPUTE,
          buffer: { type: kind === 'read' ? 'read-only-storage' : 'storage' },
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
