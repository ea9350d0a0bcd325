/**
 * @file `LoadedTemplate`: code for all sizes on the device.
 *
 * Programs are generated and compiled once; a choice of sizes costs the values of its uniforms and workgroup counts.
 * Constants, scratch memory and bind groups are shared.
 */
import {
  type Executable,
  type PlanTemplate,
  type TemplateBuffer,
  type TemplateExecutable,
  TemplateSizes,
  outputsAt,
  planAt,
} from '@tessera/inductor-core';
import type { SymInt } from '@tessera/shared';
import { TesseraError } from '@tessera/shared';
import { type DeviceLaunches, deviceLaunches } from './chain-launches.js';
import { WgslExecutable } from './executable.js';
import { LoadedPlan } from './loaded-plan.js';
import type { PlanCode } from './plan-code.js';
import { PlanMemory } from './plan-memory.js';
import { PlanRoutes } from './plan-routes.js';
import type { WgslBackend } from '../wgsl-backend.js';

/** Choices of sizes whose executables are kept although nobody else holds them. */
const KEPT = 64;
/** Places and counts are computed in 32 bits. */
const LARGEST = 2 ** 32 - 1;

/** What all sizes share on one device. */
interface Home {
  readonly backend: WgslBackend;
  readonly launches: DeviceLaunches<TemplateBuffer>;
  readonly code: PlanCode;
  readonly memory: PlanMemory;
  /** Of the first sizes that were asked for, and all others. */
  routes: PlanRoutes | null;
  /** What the programs take of sizes. */
  readonly sizes: readonly SymInt[];
}

/** See the file header. */
export class LoadedTemplate implements TemplateExecutable {
  private readonly sizes: TemplateSizes;
  private readonly made = new Map<string, LoadedPlan>();
  private home: Home;

  constructor(
    readonly template: PlanTemplate,
    backend: WgslBackend,
  ) {
    this.sizes = new TemplateSizes(template.symbols);
    this.home = this.move(backend);
  }

  at(computed: readonly number[]): Executable {
    const { made, template } = this;
    const values = computed.slice(0, template.symbols.length);
    const key = values.join();
    const executable =
      made.get(key) ??
      new LoadedPlan(
        {
          name: template.name,
          kernels: template.kernels,
          on: (backend) => this.on(backend, values),
        },
        this.home.backend,
      );
    made.delete(key);
    made.set(key, executable);
    if (made.size > KEPT) made.delete(made.keys().next().value!);
    return executable;
  }

  dispose(): void {
    for (const executable of this.made.values()) executable.dispose();
    this.made.clear();
    this.home.memory.dispose();
  }

  private move(backend: WgslBackend): Home {
    const launches = deviceLaunches(this.template, backend.target);
    const code = backend.code(launches.kernels);
    const sizes = code.programs.flatMap(({ uniforms }) =>
      uniforms.flatMap((field) => (field.kind === 'size' ? [field.size] : [])),
    );
    const memory = new PlanMemory(backend.runtime, this.template.constants);
    return (this.home = { backend, launches, code, memory, routes: null, sizes });
  }

  /** The plan for given sizes on a device. @throws plan-invalid beyond 32 bits, out-of-memory */
  private on(backend: WgslBackend, values: readonly number[]): WgslExecutable {
    const { template } = this;
    const { runtime } = backend;
    const home = this.home.backend === backend ? this.home : this.move(backend);
    const { launches, code, memory, sizes } = home;
    const valueOf = this.sizes.at(values);
    if (sizes.some((size) => Math.abs(valueOf(size)) > LARGEST)) throw tooLarge(template, values);
    const numels = launches.buffers.map(({ numel }) => valueOf(numel));
    return new WgslExecutable(runtime, {
      routes: (home.routes ??= new PlanRoutes(runtime, { ...template, ...launches }, code, numels)),
      numels,
      outputs: outputsAt(template, valueOf),
      plan: () => planAt(template, valueOf, runtime.itemSize.bind(runtime)),
      memory,
      sizeAt: valueOf,
      ownsMemory: false,
    });
  }
}

function tooLarge({ name }: PlanTemplate, values: readonly number[]): TesseraError {
  return new TesseraError(
    'plan-invalid',
    `wgpu: plan ${name} computes with sizes beyond 32 bits at ${values.join(', ')}.`,
    { hints: ['Split the tensors.'] },
  );
}
