/**
 * @file `@tessera/compile/exploration`: what the compiler made of a program as plain data, for tools that show it. The
 * explorer of the site and debug folders gather it with these; `explain()` as a tree.
 */
import { useWebAssemblyText } from '@tessera/inductor-cpu';
import './schedule-log.js';

useWebAssemblyText();

export type {
  BufferView,
  CodeLine,
  CompiledView,
  EventView,
  Exploration,
  ExplorationFile,
  FunctionView,
  GraphNodeView,
  GraphView,
  KernelView,
  PassView,
  ScheduleView,
} from './exploration/exploration.js';
export { compiledView } from './exploration/compiled-view.js';
export { explainHtml, explainTree } from './exploration/explain-tree.js';
export { functionView } from './exploration/function-view.js';
export { graphView } from './exploration/graph-view.js';
export type { ReadText } from './exploration/source-lines.js';
export { type FrameLine, NodeLines } from './exploration/node-lines.js';
