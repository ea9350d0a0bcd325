/**
 * @file `PlanRoutes`: what of a loaded plan no size changes: whose memory its buffers have, and its launches with what they
 * have bound so far.
 *
 * Executables of one template share it. Sizes are slots of what the template's program computed, so that one that was not
 * met before finds all made: launches, uniforms, memory, and bind groups where its arguments lie where others did.
 */
import type {
  ExecutionPlan,
  PlanBuffer,
  RepeatedLaunch,
  TemplateBuffer,
  TemplateOutput,
} from '@tessera/inductor-core';
import { type Size, SizeProgram, TesseraError } from '@tessera/shared';
import type { DType } from '@tessera/tensor';
import { foldedCount } from '../../codegen/dispatch.js';
import type { LaunchedKernel } from '../../codegen/scheduled/joined-kernel.js';
import { sizeClass } from '../memory/buffer-pool.js';
import { KernelLaunch, type Residence } from './launch.js';
import type { PlanCode } from './plan-code.js';
import type { PlanMemory } from './plan-memory.js';
import { ScalarBlocks } from './scalar-blocks.js';
import { SLOT_BYTES } from '../memory/slab.js';
import { pieceBytes, scratchPieces } from './scratch-plan.js';
import type { WgpuRuntime } from '../device/wgpu-runtime.js';

/** Places and counts are computed in 32 bits. */
const LARGEST = 2 ** 32 - 1;

/** A plan, or a template of plans, as far as memory and launches are concerned. */
export interface RoutedPlan extends Pick<ExecutionPlan, 'name' | 'device'> {
  readonly buffers: readonly {
    readonly dtype: DType;
    readonly numel: Size;
    readonly source: PlanBuffer['source'] | TemplateBuffer['source'];
  }[];
  readonly outputs: readonly TemplateOutput[];
  readonly kernels: readonly LaunchedKernel[];
  readonly launches: readonly RepeatedLaunch[];
  /** See `Executable`. */
  readonly launchOrigins?: readonly number[];
}

/** A buffer of a plan and which argument or constant it is. */
type Route = readonly [buffer: number, index: number];

/** The layout of an output, in slots. */
interface SlottedOutput {
  readonly itemSize: number;
  readonly sizes: readonly number[];
  readonly strides: readonly number[];
}

/** See the file header. */
export class PlanRoutes {
  readonly inputs: Route[] = [];
  readonly outputs: Route[] = [];
  readonly launches: readonly KernelLaunch[];
  readonly blocks: ScalarBlocks;
  readonly itemSizes: readonly number[];
  /** Where buffers lie in the present run: one comes after another. */
  readonly residence: Residence;
  private readonly scratch: number[] = [];
  /** Slots of how many elements buffers have. */
  private readonly numels: readonly number[];
  private readonly layouts: readonly SlottedOutput[];
  /** Slots of the sizes that programs take. */
  private readonly sizes: readonly number[];
  /** See `scratchPieces`; null until the first sizes are known. */
  private pieces: readonly number[] | null = null;

  /** @param program computes the sizes of a template; of a plan they are numbers */
  constructor(
    private readonly runtime: WgpuRuntime,
    readonly plan: RoutedPlan,
    readonly code: PlanCode,
    private readonly memory: PlanMemory,
    readonly program: SizeProgram = new SizeProgram([]),
  ) {
    const { buffers, outputs, launches, kernels } = plan;
    this.itemSizes = buffers.map(({ dtype }) => runtime.itemSize(dtype));
    this.numels = buffers.map(({ numel }) => program.slot(numel));
    this.layouts = outputs.map(({ dtype, sizes, strides }) => ({
      itemSize: runtime.itemSize(dtype),
      sizes: sizes.map((size) => program.slot(size)),
      strides: strides.map((size) => program.slot(size)),
    }));
    this.sizes = code.programs.flatMap(({ uniforms }) =>
      uniforms.flatMap((field) => {
        if (field.kind === 'quotient') for (const size of field.of) program.slot(size);
        return field.kind === 'size' ? [program.slot(field.size)] : [];
      }),
    );
    this.residence = { memory: [], byte: buffers.map(() => 0) };
    for (const [buffer, { source }] of buffers.entries()) {
      if (source.kind === 'constant')
        this.residence.memory[buffer] = memory.constants[source.index];
      else if (source.kind === 'input') this.inputs.push([buffer, source.index]);
      else if (source.kind === 'output') this.outputs.push([buffer, source.index]);
      else this.scratch.push(buffer);
    }
    this.blocks = new ScalarBlocks(runtime.uniforms, runtime.stream, program);
    this.launches = launches.map((launch) => {
      const { kernel, times = 1 } = launch;
      const { count, columns } = foldedCount(code.programs[kernel].workgroups);
      const slots = { count: program.slot(count), columns, times: program.slot(times) };
      const { variants } = code;
      return new KernelLaunch(
        runtime,
        kernels[kernel],
        launch,
        variants[kernel],
        slots,
        this.blocks,
      );
    });
  }

  /** What the program computes: what is given, but for slots that were taken since. @throws plan-invalid beyond 32 bits */
  complete(given: readonly number[]): readonly number[] {
    const { program, sizes } = this;
    const computed = given.length === program.length ? given : program.run(given);
    for (let i = 0; i < sizes.length; i++)
      if (Math.abs(computed[sizes[i]]) > LARGEST) throw tooLarge(this.plan, computed[sizes[i]]);
    return computed;
  }

  /** Takes scratch memory for what was computed, also where it was moved or was not to be had before. @throws out-of-memory */
  placeScratch(computed: readonly number[]): void {
    const { scratch, residence, memory } = this;
    const pieces = (this.pieces ??= this.begin(computed));
    if (scratch.length === 0) return;
    const bytes = pieceBytes(pieces, this.bytesAt(computed));
    for (let i = 0; i < scratch.length; i++) {
      const piece = pieces[scratch[i]];
      if (piece >= 0) residence.memory[scratch[i]] = memory.scratchAt(piece, bytes[piece]);
    }
  }

  /** Bytes of memory that buffers take. */
  private bytesAt(computed: readonly number[]): number[] {
    const { numels, itemSizes } = this;
    const bytes: number[] = [];
    for (let i = 0; i < numels.length; i++)
      bytes.push(sizeClass(computed[numels[i]] * itemSizes[i]));
    return bytes;
  }

  /** Bytes of each output. */
  outputBytes(computed: readonly number[]): number[] {
    const { layouts } = this;
    const bytes: number[] = [];
    for (let i = 0; i < layouts.length; i++) {
      const { itemSize, sizes, strides } = layouts[i];
      let extent = 1;
      for (let d = 0; d < sizes.length; d++) {
        const size = computed[sizes[d]];
        if (size === 0) {
          extent = 0;
          break;
        }
        extent += (size - 1) * computed[strides[d]];
      }
      bytes.push(extent * itemSize);
    }
    return bytes;
  }

  /** Decides who shares scratch memory, and compiles here rather than in the first run, to keep that run's time its own. */
  private begin(computed: readonly number[]): readonly number[] {
    const { plan, code, runtime } = this;
    const bytes = this.bytesAt(computed);
    const pieces = scratchPieces(plan, bytes);
    const direct = boundDirectly(plan, bytes);
    for (const kernel of direct) {
      const { count } = foldedCount(code.programs[kernel].workgroups);
      if (computed[this.program.slot(count)] > 0)
        runtime.pipelines.get(code.programs[kernel], plan.kernels[kernel].name);
    }
    return pieces;
  }
}

/**
 * Kernels of a plan that bind whole buffers. What those with small outputs bind is known when they run.
 *
 * @param bytes size of each buffer
 */
export function boundDirectly(
  { buffers, launches }: Pick<RoutedPlan, 'buffers' | 'launches'>,
  bytes: readonly number[],
): ReadonlySet<number> {
  const isSmallOutput = (buffer: number): boolean =>
    buffers[buffer].source.kind === 'output' && bytes[buffer] <= SLOT_BYTES;
  const direct = launches.filter((launch) => !launch.buffers.some(isSmallOutput));
  return new Set(direct.map(({ kernel }) => kernel));
}

function tooLarge({ name }: RoutedPlan, size: number): TesseraError {
  return new TesseraError(
    'plan-invalid',
    `wgpu: plan ${name} computes with sizes beyond 32 bits: ${size}.`,
    { hints: ['Split the tensors.'] },
  );
}
