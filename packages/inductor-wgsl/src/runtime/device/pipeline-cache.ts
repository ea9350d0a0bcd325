/**
 * @file Compute pipelines by WGSL text and which bindings move, shared by all plans.
 */
import { TesseraError } from '@tessera/shared';
import type { WgslProgram } from '../../codegen/wgsl-program.js';
import { describeError, type GpuContext } from './gpu-context.js';
import { STAGE_COMPUTE } from './gpu-flags.js';

/** A pipeline with the layout that its bind groups need. */
export interface CompiledPipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

/** A program and the kernel that it is of. */
export interface NamedProgram {
  readonly program: WgslProgram;
  readonly kernel: string;
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
    const layout = this.layoutOf(program, dynamic);
    const pipeline = this.context.watch(
      'validation',
      () => device.createComputePipeline(this.descriptor(program, kernel, layout)),
      (error) => rejected(kernel, program.text, error),
    );
    const compiled = { pipeline, layout };
    this.pipelines.set(key, compiled);
    return compiled;
  }

  /**
   * Compiles the pipelines of programs without dynamic offsets side by side; `get` then has them. What is rejected is
   * left to `get`, which says why.
   */
  async prepare(wanted: readonly NamedProgram[]): Promise<void> {
    const { device } = this.context;
    const prepare = async ({ program, kernel }: NamedProgram): Promise<void> => {
      const layout = this.layoutOf(program, null);
      const descriptor = this.descriptor(program, kernel, layout);
      const pipeline = await device.createComputePipelineAsync(descriptor).catch(() => null);
      if (pipeline === null || this.pipelines.has(program.text)) return;
      this.pipelines.set(program.text, { pipeline, layout });
    };
    await Promise.all(
      wanted.filter(({ program }) => !this.pipelines.has(program.text)).map(prepare),
    );
  }

  private layoutOf({ slots }: WgslProgram, dynamic: readonly boolean[] | null): GPUBindGroupLayout {
    return this.storageLayout(
      slots.map((slot) => slot.access),
      dynamic,
    );
  }

  private descriptor(
    { text, uniforms }: WgslProgram,
    kernel: string,
    layout: GPUBindGroupLayout,
  ): GPUComputePipelineDescriptor {
    const { device } = this.context;
    const bindGroupLayouts = uniforms.length > 0 ? [layout, this.uniforms] : [layout];
    return {
      layout: device.createPipelineLayout({ bindGroupLayouts }),
      compute: {
        module: device.createShaderModule({ code: text, label: kernel }),
        entryPoint: 'main',
      },
      label: kernel,
    };
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
