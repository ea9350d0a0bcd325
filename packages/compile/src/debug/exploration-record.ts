/**
 * @file Gathers what the explorer shows of one compile while it goes on. What is kept is text and plain data: neither graphs
 * nor compiled code live longer because somebody watches.
 */
import type { CompiledFunction } from '@tessera/dynamo-trace';
import type { GraphModule } from '@tessera/graph';
import type { CompiledGraph } from '@tessera/inductor-core';
import { type ProfileEvent, ProfileRecorder, profiling } from '@tessera/shared';
import { compiledView } from '../exploration/compiled-view.js';
import type {
  CompiledView,
  ExplorationFile,
  FunctionView,
  GraphView,
  PassView,
} from '../exploration/exploration.js';
import { functionView } from '../exploration/function-view.js';
import { graphView } from '../exploration/graph-view.js';
import { NodeLines } from '../exploration/node-lines.js';
import { type ReadText, SourceLines } from '../exploration/source-lines.js';

/** Events that the timeline keeps. */
const MOST_EVENTS = 600;

/** See the file header. */
export class ExplorationRecord {
  private readonly source: SourceLines;
  private readonly lines: NodeLines;
  private readonly captured: GraphView;
  private readonly joint: string[] = [];
  private readonly passes: PassView[] = [];
  private readonly compiled: CompiledView[] = [];
  private readonly functions: FunctionView[] = [];
  private readonly recorder = new ProfileRecorder();

  constructor(captured: GraphModule, read: ReadText) {
    this.source = new SourceLines(read);
    this.lines = new NodeLines(this.source.lineOf);
    this.captured = graphView('captured', captured, this.lines);
  }

  /** Runs a part of the compile. Its stages are events, unless the program profiles itself. */
  timed<R>(fn: () => R): R {
    if (profiling.active !== null) return fn();
    profiling.active = this.recorder;
    try {
      return fn();
    } finally {
      profiling.active = null;
    }
  }

  addPass(name: string, before: string, after: string): void {
    if (before !== after) this.passes.push({ name, before, after });
  }

  addJoint(module: GraphModule): void {
    this.lines.learn(module);
    this.joint.push(module.print());
  }

  addCompiled(module: GraphModule, compiled: CompiledGraph): void {
    this.lines.learn(module);
    const title = `${compiled.plan.name} ${this.compiled.length + 1}`;
    this.compiled.push(compiledView(title, module, compiled, this.lines));
  }

  /** The function whose call compiled. */
  addFunction(compiled: CompiledFunction): FunctionView {
    const view = functionView(compiled, this.source.lineOf);
    this.functions.push(view);
    return view;
  }

  /** All of it so far, as `exploration.json` holds it. */
  toJson(): string {
    const file: ExplorationFile = {
      format: 'tessera-exploration',
      version: 1,
      program: this.source.program,
      functions: this.functions,
      captured: [this.captured],
      joint: this.joint,
      passes: this.passes,
      compiled: this.compiled,
      timeline: this.recorder.events
        .filter((event): event is ProfileEvent => event !== null)
        .slice(0, MOST_EVENTS)
        .map(({ name, category, start, duration }) => ({ name, category, start, duration })),
      output: [],
      error: null,
    };
    return JSON.stringify(file);
  }
}
