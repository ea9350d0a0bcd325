/**
 * @file `TESSERA_DEBUG_DIR`: one folder per compile, with everything that happened in it.
 *
 * - `captured.ts`: the graph as the tracer recorded it; `graph.json` and `repro.mjs` compile it again;
 * - `passes/NN-name.before.ts` and `.after.ts`: the graph around every named pass; the page shows what changed;
 * - `graph-N.ts`, `kernels/N-name.schedule.txt` and `.wgsl|.wat`: what went to the code generator, what it chose, and
 *   what it made;
 * - `guards.txt`: the guards of the trace, once the call that compiled has returned;
 * - `exploration.json`: all of it for the explorer, with the lines of the program (`npx @tessera/cli explore`);
 * - `index.html`: all of it on one page.
 *
 * In browsers there are no files, so nothing is written; only Node has this code (`node.ts`).
 */
import type { CompiledFunction } from '@tessera/dynamo-trace';
import type { GraphModule } from '@tessera/graph';
import { type CompiledGraph, printSchedule } from '@tessera/inductor-core';
import { observePasses } from '@tessera/passes';
import {
  type CompilationRecord,
  debugConfig,
  observeCompilations,
  recordCompilations,
} from '../observe-compilations.js';
import { ExplorationRecord } from './exploration-record.js';
import { indexPage } from './index-page.js';
import { type FileSystem, nodeFiles } from './node-files.js';
import { reproFiles } from './repro.js';

/** File extension of generated code by language. */
const EXTENSIONS: Readonly<Record<string, string>> = { wgsl: 'wgsl', wasm: 'wat' };

/** What the page says of a pass that had nothing to do. */
const UNCHANGED = 'This pass changed nothing.';

/** Folders whose trace is not finished. */
const unfinished: DebugFolder[] = [];
let compilations = 0;

/** See the file header. */
class DebugFolder implements CompilationRecord {
  /** The folder of the compile that goes on now. */
  static current: DebugFolder | null = null;
  private readonly files = new Map<string, string>();
  private readonly exploration: ExplorationRecord;
  /** Whether the pages do not show everything yet. */
  private isBehind = false;
  private passes = 0;
  private graphs = 0;

  private constructor(
    private readonly fs: FileSystem,
    readonly path: string,
    captured: GraphModule,
  ) {
    this.exploration = new ExplorationRecord(captured, (file) => readText(fs, file));
  }

  /** The folder of a compile that begins, or null if none is wanted or possible. */
  static open(captured: GraphModule): DebugFolder | null {
    const fs = debugConfig.debugDir === '' ? null : nodeFiles();
    if (fs === null) return null;
    let path: string;
    do path = `${debugConfig.debugDir}/compile-${String(compilations++).padStart(3, '0')}`;
    while (fs.existsSync(path));
    const folder = new DebugFolder(fs, path, captured);
    folder.write('captured.ts', captured.print({ source: true }));
    for (const [name, text] of Object.entries(reproFiles(captured))) folder.write(name, text);
    unfinished.push(folder);
    return folder;
  }

  /** Runs a part of the compile; its passes are written here. */
  during<R>(fn: () => R): R {
    const stop = observePasses(({ name }, before, module) => {
      const after = module.print();
      this.exploration.addPass(name, before, after);
      const number = String(this.passes++).padStart(2, '0');
      // The first pass shows what the pipeline begins with, also if it has nothing to do.
      const shown = after !== before || this.passes === 1;
      this.write(`passes/${number}-${name}.before.ts`, before, shown ? before : UNCHANGED);
      this.write(`passes/${number}-${name}.after.ts`, after, after === before ? UNCHANGED : after);
    });
    const outer = DebugFolder.current;
    DebugFolder.current = this;
    try {
      return this.exploration.timed(fn);
    } finally {
      DebugFolder.current = outer;
      stop();
      this.writePages();
    }
  }

  /** Keeps the joint graph of a compile that has a backward pass. */
  addJoint(module: GraphModule): void {
    this.exploration.addJoint(module);
  }

  /** Writes what the code generator got and made. */
  addCompiled(module: GraphModule, compiled: CompiledGraph): void {
    this.exploration.addCompiled(module, compiled);
    const number = this.graphs++;
    this.write(`graph-${number}.ts`, module.print());
    compiled.executable.sources.forEach(({ kernel, language, text, schedule }) => {
      const path = `kernels/${number}-${kernel}`;
      if (schedule !== undefined) this.write(`${path}.schedule.txt`, printSchedule(schedule()));
      this.write(`${path}.${EXTENSIONS[language] ?? 'txt'}`, text);
    });
  }

  /** Writes the guards of the trace. */
  addFunction(compiled: CompiledFunction): void {
    const { guards } = this.exploration.addFunction(compiled);
    this.write('guards.txt', `${guards.join('\n')}\n`);
    this.writePages();
  }

  /** @param shown on the page, if that is not the file's text */
  private write(name: string, text: string, shown: string = text): void {
    const slash = name.lastIndexOf('/');
    const folder = slash < 0 ? this.path : `${this.path}/${name.slice(0, slash)}`;
    this.fs.mkdirSync(folder, { recursive: true });
    this.fs.writeFileSync(`${this.path}/${name}`, text);
    this.files.set(name, shown);
    this.isBehind = true;
  }

  private writePages(): void {
    if (!this.isBehind) return;
    this.write('exploration.json', this.exploration.toJson(), 'For npx @tessera/cli explore.');
    this.fs.writeFileSync(`${this.path}/index.html`, indexPage(this.path, this.files));
    this.isBehind = false;
  }
}

recordCompilations({
  open: (captured) => DebugFolder.open(captured),
  // Gives the folders of a call that has returned the guards of its trace.
  finish(compiled) {
    for (const folder of unfinished.splice(0)) folder.addFunction(compiled);
  },
});
observeCompilations((module, compiled) => DebugFolder.current?.addCompiled(module, compiled));

/** A file of the user's program; null for one that is not there: generated code, a page's script. */
function readText(fs: FileSystem, path: string): string | null {
  try {
    return fs.readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
