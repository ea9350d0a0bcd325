/**
 * @file `SizeFamily`: the code of one graph at all the sizes that it is given.
 *
 * The first graph gets code of its own. With the second, both propose a template (`GraphTemplate`), which is lowered
 * once and loaded as code for all sizes. A later graph runs on that code if every number of it is what the template
 * says; one that is of the same program and differs is one more sample for a better template. Sizes of 0 and 1, and
 * whatever fits no template, get code of their own, as do all sizes where a backend has no code for templates.
 */
import { type GraphModule, GraphTemplate } from '@tessera/graph';
import { isTesseraError, log, stage } from '@tessera/shared';
import type { KernelBackend, TemplateExecutable } from '../backend/kernel-backend.js';
import { type CompiledTemplate, compileToTemplate } from '../compile-graph.js';
import {
  type CompiledGraph,
  type ExecutableOptions,
  compileToExecutable,
  compiledGraph,
} from '../compile-to-executable.js';
import type { IrOutput } from '../lower/ir-node.js';
import { TemplateSizes, outputsAt } from '../plan/plan-template.js';

/** Templates after which a program is taken to have none. */
const MOST_TEMPLATES = 3;
/** Programs of one captured graph beyond which sizes change what is computed. */
const MOST_FAMILIES = 16;

/** A template with its code. */
interface Loaded {
  readonly graph: GraphTemplate;
  readonly compiled: CompiledTemplate;
  readonly executable: TemplateExecutable;
  readonly sizes: TemplateSizes;
}

/** See the file header. */
export class SizeFamily {
  private readonly samples: GraphModule[] = [];
  private loaded: Loaded | null = null;
  private templates = 0;

  /** @throws what `compileToExecutable` throws */
  compile(
    module: GraphModule,
    backend: KernelBackend,
    options: ExecutableOptions = {},
  ): CompiledGraph {
    if (backend.loadTemplate === undefined) return compileToExecutable(module, backend, options);
    return (
      this.bound(module, backend) ??
      this.withTemplate(module, backend, options) ??
      compileToExecutable(module, backend, options)
    );
  }

  /** The code of the template for a graph that it stands for. */
  private bound(module: GraphModule, backend: KernelBackend): CompiledGraph | null {
    if (this.loaded === null) return null;
    const { graph, compiled, executable, sizes } = this.loaded;
    const values = graph.match(module);
    if (values === null || !graph.admits(values)) return null;
    const valueOf = sizes.at(values);
    const { template, outputs, ...rest } = compiled;
    const layouts = outputsAt(template, valueOf);
    let next = 0;
    const made = outputs.map((output): IrOutput => {
      if (output.kind === 'value') return output;
      const { sizes: shape, strides } = layouts[next++]!;
      return { ...output, sizes: shape, strides };
    });
    const { name, rng, launches } = template;
    return compiledGraph(module, backend, executable.at(values), {
      ...rest,
      outputs: made,
      outline: { name, launches, outputs: layouts, ...(rng === undefined ? {} : { rng }) },
      isShared: true,
    });
  }

  /** A graph that no template stands for yet: one that stands for it too, if there is one. */
  private withTemplate(
    module: GraphModule,
    backend: KernelBackend,
    options: ExecutableOptions,
  ): CompiledGraph | null {
    if (this.samples.length === 0) {
      this.samples.push(module);
      return null;
    }
    if (this.templates === MOST_TEMPLATES) return null;
    const graph = GraphTemplate.of([...this.samples, module]);
    if (graph === null) {
      // A first graph with sizes of its own kind (0, 1) is no sample of the others.
      if (this.loaded === null) this.samples[0] = module;
      return null;
    }
    this.samples.push(module);
    this.templates++;
    const loaded = load(graph, backend, options);
    if (loaded === null) return null;
    this.loaded = loaded;
    return this.bound(module, backend);
  }
}

/** Families of the graphs that one captured graph is made into: forward, backward, parts of devices. */
export class SizeFamilies {
  private readonly families = new Map<string, SizeFamily>();

  /** @throws what `compileToExecutable` throws */
  compile(
    module: GraphModule,
    backend: KernelBackend,
    options: ExecutableOptions = {},
  ): CompiledGraph {
    const key = `${backend.name};${options.name ?? ''};${module.graph.nodes.map(({ name }) => name).join()}`;
    let family = this.families.get(key);
    if (family === undefined) {
      if (this.families.size === MOST_FAMILIES)
        return compileToExecutable(module, backend, options);
      this.families.set(key, (family = new SizeFamily()));
    }
    return family.compile(module, backend, options);
  }
}

/** Code for a template; null where everything had to be fixed, or something cannot be said with symbols. */
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
    return { graph, compiled, executable, sizes: new TemplateSizes(graph.symbols) };
  } catch (error) {
    if (!isTesseraError(error)) throw error;
    log('dynamic', () => `${name} gets code for every size: ${error.message}`);
    return null;
  }
}
