/**
 * @file `LoadedTemplate`: code for all sizes on the device.
 *
 * Programs are generated and compiled once. Launches, uniforms, scratch memory and bind groups are those of all sizes: a
 * choice of them is what the template's program computed, and costs no more than a few objects.
 */
import {
  type Executable,
  type ExecutionPlan,
  type KernelSource,
  type PlanTemplate,
  type TemplateExecutable,
  TemplateSizes,
  planAt,
} from '@tessera/inductor-core';
import type { DeviceMemory, Tensor } from '@tessera/tensor';
import { deviceLaunches } from './chain-launches.js';
import { WgslExecutable } from './executable.js';
import { LoadedPlan } from './loaded-plan.js';
import { PlanMemory } from './plan-memory.js';
import { PlanRoutes } from './plan-routes.js';
import type { WgslBackend } from '../wgsl-backend.js';

/** What all sizes share on one device. */
interface Home {
  readonly backend: WgslBackend;
  readonly memory: PlanMemory;
  readonly routes: PlanRoutes;
}

/** See the file header. */
export class LoadedTemplate implements TemplateExecutable {
  private readonly sizes: TemplateSizes;
  private home: Home;
  /** Runs it at all sizes, from the first of them on. */
  private loaded: LoadedPlan | null = null;

  constructor(
    readonly template: PlanTemplate,
    backend: WgslBackend,
  ) {
    this.sizes = new TemplateSizes(template.symbols);
    // Slots are taken before anything is computed.
    this.home = this.homeOn(backend);
  }

  at(computed: readonly number[]): Executable {
    return new PlanAtSizes(this, (this.loaded ??= this.load(computed)), computed);
  }

  /** The plan with kernels of some sizes. */
  planAt(computed: readonly number[]): ExecutionPlan {
    const { runtime } = this.home.backend;
    return planAt(this.template, this.sizes.at(computed), runtime.itemSize.bind(runtime));
  }

  dispose(): void {
    this.home.memory.dispose();
  }

  private load(computed: readonly number[]): LoadedPlan {
    const { name, kernels } = this.template;
    const on = (backend: WgslBackend): WgslExecutable => {
      if (this.home.backend !== backend) this.home = this.homeOn(backend);
      const { memory, routes } = this.home;
      const plan = (): ExecutionPlan => this.planAt(computed);
      return new WgslExecutable(backend.runtime, {
        routes,
        computed,
        plan,
        memory,
        ownsMemory: false,
      });
    };
    return new LoadedPlan({ name, kernels, on }, this.home.backend);
  }

  private homeOn(backend: WgslBackend): Home {
    const { template } = this;
    const { runtime } = backend;
    const launches = deviceLaunches(template, backend.target);
    const code = backend.code(launches.kernels);
    const memory = new PlanMemory(runtime, template.constants);
    const plan = { ...template, ...launches };
    const routes = new PlanRoutes(runtime, plan, code, memory, template.program);
    return { backend, memory, routes };
  }
}

/** A template at some sizes. It is made for every new choice of them, and so has nothing but their names. */
class PlanAtSizes implements Executable {
  constructor(
    private readonly template: LoadedTemplate,
    private readonly loaded: LoadedPlan,
    private readonly computed: readonly number[],
  ) {}

  get plan(): ExecutionPlan {
    return this.template.planAt(this.computed);
  }

  get sources(): readonly KernelSource[] {
    return this.loaded.sources;
  }

  get launchOrigins(): readonly number[] | undefined {
    return this.loaded.launchOrigins;
  }

  allocateOutputs(inputs: readonly Tensor[]): readonly DeviceMemory[] {
    return this.loaded.allocateOutputs(inputs, this.computed);
  }

  run(inputs: readonly Tensor[], outputs: readonly Tensor[], scalars: readonly number[]): void {
    this.loaded.run(inputs, outputs, scalars, this.computed);
  }

  /** Others go on. */
  dispose(): void {}
}
