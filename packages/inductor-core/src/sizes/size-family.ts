/**
 * @file `SizeFamily`: the code of one graph at all the sizes that it is given.
 *
 * The first graph gets code of its own. With the second, both propose a template (`GraphTemplate`), which is lowered
 * once and loaded as code for all sizes. A later graph runs on that code if every number of it is what the template
 * says; one that is of the same program and differs is one more sample for a better template. Sizes at which the
 * template's conditions do not hold (rows that are too long for its way of sorting) are a family of their own. Sizes of 0 and 1, and
 * whatever fits no template, get code of their own, as do all sizes where a backend has no code for templates.
 * Sizes that enough graphs have shown the template to be right for (`ProvenSizes`) need no graph.
 *
 * Captured graphs of one function may be equal, as the passes of a loop are that ends by a value that it reads. They
 * share what is made: see `ProgramCode`.
 */
import { type GraphModule, GraphTemplate, ProvenSizes, isSameGraph } from '@tessera/graph';
import { type Steps, atOnce, counters, isTesseraError, log, stage } from '@tessera/shared';
import type { KernelBackend, TemplateExecutable } from '../backend/kernel-backend.js';
import { type CompiledTemplate, compileToTemplate } from '../compile-graph.js';
import {
  type CompiledGraph,
  type ExecutableOptions,
  type InputRoute,
  PlanCaller,
  compiledGraph,
  executableSteps,
  routeOf,
} from '../compile-to-executable.js';
import { TemplateOutputs } from '../plan/template-outputs.js';
import { programKey } from './program-key.js';

/** Templates after which a program is taken to have none. */
const MOST_TEMPLATES = 3;
/** Families for sizes at which the conditions of others do not hold. */
const MOST_REGIONS = 3;
/** Programs of one captured graph beyond which sizes change what is computed. */
const MOST_FAMILIES = 16;

/** A template with its code. */
interface Loaded {
  readonly graph: GraphTemplate;
  readonly route: InputRoute;
  readonly compiled: CompiledTemplate;
  readonly executable: TemplateExecutable;
  readonly outputs: TemplateOutputs;
  readonly caller: PlanCaller;
  /** Null where operators may do something else at other sizes. */
  readonly proven: ProvenSizes | null;
}

/** Code that was made for graphs of one form, whatever captured graph they are of. */
class KnownCode {
  readonly templates: Loaded[] = [];
  private own: { readonly module: GraphModule; readonly code: WeakRef<CompiledGraph> }[] = [];

  /** Code for one graph: that of an equal one, if somebody holds it, or new. */
  *steps(
    module: GraphModule,
    backend: KernelBackend,
    options: ExecutableOptions,
  ): Steps<CompiledGraph> {
    this.own = this.own.filter(({ code }) => code.deref() !== undefined);
    const same = this.own.find((known) => isSameGraph(known.module, module))?.code.deref();
    if (same !== undefined) return same;
    const code = yield* executableSteps(module, backend, options);
    this.own.push({ module, code: new WeakRef(code) });
    return code;
  }

  /** A template that stands for all samples. */
  templateFor(samples: readonly Sample[]): Loaded | undefined {
    return this.templates.find(({ graph }) =>
      samples.every(({ module }) => {
        const values = graph.match(module);
        return values !== null && graph.admits(graph.at(values));
      }),
    );
  }
}

/** A graph of the family, and the sizes of the program that it was made for. */
interface Sample {
  readonly module: GraphModule;
  readonly sizes: readonly number[] | null;
}

/** See the file header. */
export class SizeFamily {
  private readonly samples: Sample[] = [];
  private loaded: Loaded | null = null;
  private templates = 0;
  /** Of the sizes at which the template's conditions do not hold. */
  private others: SizeFamily | null = null;

  /** @param onTemplate called when code for all sizes was made */
  constructor(
    private readonly onTemplate: () => void = () => undefined,
    private readonly regions: number = MOST_REGIONS,
    /** Without it a graph's code is the caller's alone, who may dispose it. */
    private readonly known: KnownCode | null = null,
  ) {}

  /**
   * @param sizes what is known of sizes where the graph was captured; null if nothing is
   * @throws what `compileToExecutable` throws
   */
  compile(
    module: GraphModule,
    backend: KernelBackend,
    options: ExecutableOptions = {},
    sizes: readonly number[] | null = null,
  ): CompiledGraph {
    return atOnce(this.steps(module, backend, options, sizes));
  }

  /** `compile` with pauses where a graph gets code of its own. */
  *steps(
    module: GraphModule,
    backend: KernelBackend,
    options: ExecutableOptions,
    sizes: readonly number[] | null,
  ): Steps<CompiledGraph> {
    const sample = { module, sizes };
    const ownCode = (): Steps<CompiledGraph> =>
      (this.known?.steps.bind(this.known) ?? executableSteps)(module, backend, options);
    if (backend.loadTemplate === undefined) return yield* ownCode();
    const computed = this.computedFor(module);
    if (computed !== null && this.regions > 0 && !this.loaded!.graph.admits(computed)) {
      this.others ??= new SizeFamily(this.onTemplate, this.regions - 1, this.known);
      return yield* this.others.steps(module, backend, options, sizes);
    }
    const shared =
      this.bound(sample, computed, backend) ?? this.withTemplate(sample, backend, options);
    return shared ?? (yield* ownCode());
  }

  /** What the template's program computes for a graph that it stands for. */
  private computedFor(module: GraphModule): readonly number[] | null {
    const { graph } = this.loaded ?? {};
    const values = graph?.match(module) ?? null;
    return values === null ? null : graph!.at(values);
  }

  /** The code of the template for a graph that it stands for. */
  private bound(
    { sizes }: Sample,
    computed: readonly number[] | null,
    backend: KernelBackend,
  ): CompiledGraph | null {
    const loaded = this.loaded!;
    if (computed === null || !loaded.graph.admits(computed)) return null;
    if (sizes !== null) loaded.proven?.add(sizes, computed);
    return this.at(computed, loaded, backend);
  }

  /** The code of a template where its program computes this. */
  private at(computed: readonly number[], of: Loaded, backend: KernelBackend): CompiledGraph {
    const { template, ...rest } = of.compiled;
    const { name, rng, launches } = template;
    const outputs = of.outputs.at(computed);
    const executable = of.executable.at(computed);
    const code = compiledGraph(of.route, backend, executable, {
      ...rest,
      outline: { name, launches, outputs, ...(rng === undefined ? {} : { rng }) },
      isShared: true,
    });
    const forSizes: CompiledGraph['forSizes'] = (wanted, inputs) => {
      const { loaded } = this;
      if (loaded === null || loaded.proven !== of.proven) return null;
      const found = loaded.proven?.computedAt(wanted, inputs) ?? null;
      if (found === null) return null;
      const { caller, executable, outputs } = loaded;
      const code = executable.at(found);
      const metas = outputs.at(found);
      return (inputs) => caller.call(code, metas, inputs);
    };
    return Object.assign(code, { forSizes });
  }

  /** A graph that no template stands for yet: one that stands for it too, if there is one. */
  private withTemplate(
    sample: Sample,
    backend: KernelBackend,
    options: ExecutableOptions,
  ): CompiledGraph | null {
    if (this.samples.length === 0) {
      this.samples.push(sample);
      return null;
    }
    if (this.templates === MOST_TEMPLATES) return null;
    const known = this.known?.templateFor([...this.samples, sample]);
    const graph =
      known?.graph ?? GraphTemplate.of([...this.samples, sample].map(({ module }) => module));
    if (graph === null || graph.symbols.length === 0) {
      // A first graph with sizes of its own kind (0, 1) is no sample of the others.
      if (this.loaded === null) this.samples[0] = sample;
      return null;
    }
    this.samples.push(sample);
    this.templates++;
    const made = known ?? load(graph, backend, options);
    if (made === null) return null;
    if (known === undefined) {
      this.known?.templates.push(made);
      this.onTemplate();
    }
    const loaded = { ...made, proven: ProvenSizes.of(graph) };
    this.loaded = loaded;
    for (const { module, sizes } of this.samples)
      if (sizes !== null) loaded.proven?.add(sizes, graph.at(graph.match(module)!));
    return this.bound(sample, this.computedFor(sample.module), backend);
  }
}

/** Code that the captured graphs of one function share. */
export class ProgramCode {
  private readonly known = new Map<string, KnownCode>();

  /** Of graphs whose nodes have the same names, for one backend. */
  of(key: string): KnownCode {
    let known = this.known.get(key);
    if (known === undefined) this.known.set(key, (known = new KnownCode()));
    return known;
  }
}

/** Families of the graphs that one captured graph is made into: forward, backward, parts of devices. */
export class SizeFamilies {
  private readonly families = new Map<string, SizeFamily>();

  constructor(private readonly program: ProgramCode = new ProgramCode()) {}

  /** See `SizeFamily`. @throws what `compileToExecutable` throws */
  *steps(
    module: GraphModule,
    backend: KernelBackend,
    options: ExecutableOptions,
    sizes: readonly number[] | null,
  ): Steps<CompiledGraph> {
    const key = programKey(module, `${backend.name};${options.name ?? ''}`);
    let family = this.families.get(key);
    if (family === undefined) {
      const known = this.program.of(key);
      if (this.families.size === MOST_FAMILIES) return yield* known.steps(module, backend, options);
      const onTemplate = (): void => counters.inc('inductor', 'templates');
      family = new SizeFamily(onTemplate, MOST_REGIONS, known);
      this.families.set(key, family);
    }
    return yield* family.steps(module, backend, options, sizes);
  }
}

/**
 * Code for a template; null where everything had to be fixed, or something cannot be said with symbols.
 *
 * @throws kernel-missing where the graph, which is then left to the backend's fallback, is not worth code for all sizes
 */
function load(
  graph: GraphTemplate,
  backend: KernelBackend,
  options: ExecutableOptions,
): Loaded | null {
  const name = options.name ?? 'graph';
  try {
    const compiled = compileToTemplate(graph.example, { backend, name }, graph);
    if (graph.isFixed) return null;
    const executable = stage('generate and load code', () =>
      backend.loadTemplate!(compiled.template),
    );
    const route = routeOf(graph.example);
    const { template, ...rest } = compiled;
    return {
      graph,
      route,
      compiled,
      executable,
      caller: new PlanCaller(route, { ...rest, outline: template }),
      outputs: new TemplateOutputs(compiled.template, graph.program, backend.device),
      proven: ProvenSizes.of(graph),
    };
  } catch (error) {
    const { extern, fallback = extern } = backend.capabilities;
    if (!isTesseraError(error) || (error.code === 'kernel-missing' && fallback && !extern))
      throw error;
    log('dynamic', () => `${name} gets code for every size: ${error.message}`);
    return null;
  }
}
