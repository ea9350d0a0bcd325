/**
 * @file What the compiler made of a program, as plain data: everything that the explorer shows. Its page gathers it from a
 * program that somebody typed, and debug folders keep it as `exploration.json`.
 */

/** A node of a graph. */
export interface GraphNodeView {
  readonly name: string;
  /** Operator, or what kind of node it is. */
  readonly label: string;
  /** Its value: `f32[4, 8]`. */
  readonly value: string;
  /** Names of the nodes it reads. */
  readonly inputs: readonly string[];
  /** Line of the program that it comes from, from 1; null where that is not known. */
  readonly line: number | null;
  /** Path of the module that it ran in; empty outside any. */
  readonly module: string;
}

/** A line of a printed graph, and the node that it defines. */
export interface CodeLine {
  readonly text: string;
  readonly node: string | null;
}

/** A graph as text and as nodes. */
export interface GraphView {
  readonly title: string;
  readonly lines: readonly CodeLine[];
  readonly nodes: readonly GraphNodeView[];
}

/** A pass that changed a graph: its text before and after. */
export interface PassView {
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** How a device runs a kernel, in text. */
export interface ScheduleView {
  /** That of the code which is made of it: `wasm`, `wgsl`, … */
  readonly language: string;
  readonly text: string;
}

/** A kernel of a compiled graph. */
export interface KernelView {
  readonly name: string;
  /** Loops and expressions. */
  readonly loops: string;
  /** For each device whose code is shown, unless nothing is chosen there. */
  readonly schedules: readonly ScheduleView[];
  /** WebAssembly text of its function; empty where there is none. */
  readonly wat: string;
  /** Empty where there is none. */
  readonly wgsl: string;
  /** Names of the nodes of its graph whose work is inside. */
  readonly nodes: readonly string[];
}

/** Memory of a plan: a buffer that lives from one launch to another. */
export interface BufferView {
  readonly name: string;
  /** Bytes from the beginning of the arena. */
  readonly offset: number;
  readonly bytes: number;
  readonly from: number;
  readonly to: number;
}

/** A graph that was given to the code generator, with what became of it. */
export interface CompiledView {
  readonly graph: GraphView;
  readonly kernels: readonly KernelView[];
  readonly plan: string;
  readonly arenaBytes: number;
  readonly launches: readonly string[];
  readonly buffers: readonly BufferView[];
}

/** A function that the program compiled. */
export interface FunctionView {
  readonly name: string;
  readonly summary: string;
  readonly guards: readonly string[];
  readonly breaks: readonly {
    readonly code: string;
    readonly reason: string;
    readonly line: number | null;
    readonly hint: string;
  }[];
  readonly recompiles: readonly string[];
}

/** Something that ran; microseconds. */
export interface EventView {
  readonly name: string;
  readonly category: string;
  readonly start: number;
  readonly duration: number;
}

/** See the file header. */
export interface Exploration {
  /** What lines are lines of: the program, or those lines of it that operators came from. */
  readonly program: string;
  readonly functions: readonly FunctionView[];
  readonly captured: readonly GraphView[];
  readonly joint: readonly string[];
  readonly passes: readonly PassView[];
  readonly compiled: readonly CompiledView[];
  readonly timeline: readonly EventView[];
  readonly output: readonly string[];
  /** What the program threw, if it did. */
  readonly error: string | null;
}

/** An exploration as debug folders keep it. */
export interface ExplorationFile extends Exploration {
  readonly format: 'tessera-exploration';
  /** Raised when what a reader relies on changes. */
  readonly version: 1;
}
