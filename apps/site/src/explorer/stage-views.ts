/**
 * @file The stages as elements: graphs as code, passes as differences, kernels, plan, guards, output. What comes from lines of
 * the program carries them in `data-lines`.
 */
import { h } from './elements.js';
import type {
  CompiledView,
  Exploration,
  FunctionView,
  GraphView,
  KernelView,
  PassView,
} from '@tessera/compile/exploration';
import { memoryMap } from './memory-map.js';
import { type Change, passChanges } from './pass-changes.js';

/** Lines of a difference that are shown around a change. */
const CONTEXT = 2;

/** Lines of a graph's nodes, by name. */
function lineByNode(graph: GraphView): ReadonlyMap<string, number | null> {
  return new Map(graph.nodes.map(({ name, line }) => [name, line]));
}

/** A graph as code; lines that have a place in the program can be selected, by pointer or keyboard. */
export function graphCode(graph: GraphView): HTMLElement {
  const lines = lineByNode(graph);
  const code = graph.lines.map(({ text, node }) => {
    const line = node === null ? null : (lines.get(node) ?? null);
    if (line === null) return h('span', { class: 'line' }, text);
    return h(
      'span',
      { class: 'line', 'data-lines': line, role: 'button', tabindex: 0, title: `line ${line}` },
      text,
    );
  });
  return h(
    'section',
    {},
    h('h3', {}, graph.title),
    h('pre', { tabindex: 0 }, h('code', {}, ...code)),
  );
}

/** Lines of a difference near a change. */
function nearChanges(changes: readonly Change[]): readonly Change[] {
  return changes.filter(
    ({ kind }, i) =>
      kind !== 'same' ||
      changes.slice(Math.max(0, i - CONTEXT), i + CONTEXT + 1).some((one) => one.kind !== 'same'),
  );
}

function passElement(pass: PassView, index: number): HTMLElement {
  const signs = { same: '  ', added: '+ ', removed: '- ' };
  const changes = passChanges(pass);
  const lines = nearChanges(changes).map(({ kind, text }) =>
    h('span', { class: `line ${kind}` }, signs[kind] + text),
  );
  const count = changes.filter(({ kind }) => kind !== 'same').length;
  return h(
    'details',
    { open: index < 4 ? '' : null },
    h('summary', {}, `${pass.name}: ${count} line(s) changed`),
    h('pre', { tabindex: 0 }, h('code', {}, ...lines)),
  );
}

function codeElement(text: string): HTMLElement {
  return h('pre', { tabindex: 0 }, h('code', {}, text));
}

/** What languages of kernels are called. */
const LANGUAGES: Readonly<Record<string, string>> = { wasm: 'WebAssembly', wgsl: 'WGSL' };

/** A text of a kernel, under the language that it is or becomes. */
function textBlock(language: string, text: string): HTMLElement {
  const title = LANGUAGES[language] ?? language;
  return h('details', { open: '' }, h('summary', {}, title), codeElement(text));
}

/** What a stage shows of a kernel. */
type KernelTexts = (kernel: KernelView) => readonly HTMLElement[];

const loopsOf: KernelTexts = ({ loops }) => [codeElement(loops)];

const schedulesOf: KernelTexts = ({ schedules }) =>
  some(
    schedules.map(({ language, text }) => textBlock(language, text)),
    'Nothing was chosen for this kernel, or the file is older than schedules.',
  );

const generatedCode: KernelTexts = ({ wat, wgsl }) =>
  some(
    Object.entries({ wasm: wat, wgsl }).flatMap(([language, text]) =>
      text === '' ? [] : [textBlock(language, text)],
    ),
    'The reference kernel of its operator runs.',
  );

/** A kernel with its name, which stands for the lines of its nodes. */
function kernelElement(kernel: KernelView, graph: GraphView, texts: KernelTexts): HTMLElement {
  const byNode = lineByNode(graph);
  const lines = kernel.nodes
    .map((name) => byNode.get(name) ?? null)
    .filter((line) => line !== null);
  const known = [...new Set(lines)];
  const title =
    known.length === 0
      ? h('h3', {}, kernel.name)
      : h(
          'h3',
          { class: 'kernel', 'data-lines': known.join(' '), role: 'button', tabindex: 0 },
          kernel.name,
        );
  return h(
    'section',
    {},
    title,
    h('p', { class: 'muted' }, `Computes ${kernel.nodes.join(', ') || 'copies only'}.`),
    ...texts(kernel),
  );
}

/** A stage that shows every kernel. */
function kernelStage(name: string, texts: KernelTexts): Stage {
  return {
    name,
    show: ({ compiled }) =>
      some(
        compiled.flatMap(({ kernels, graph }) =>
          kernels.map((kernel) => kernelElement(kernel, graph, texts)),
        ),
      ),
  };
}

function planElement(compiled: CompiledView): HTMLElement {
  return h(
    'section',
    {},
    h('h3', {}, compiled.graph.title),
    h('pre', { tabindex: 0 }, h('code', {}, compiled.plan)),
    memoryMap(compiled),
  );
}

function list(items: readonly (HTMLElement | string)[], none: string): HTMLElement {
  if (items.length === 0) return h('p', { class: 'muted' }, none);
  return h('ul', {}, ...items.map((item) => h('li', {}, item)));
}

function functionElement(fn: FunctionView): HTMLElement {
  const breaks = fn.breaks.map(({ code, reason, line, hint }) => {
    const where = line === null ? '' : ` in line ${line}`;
    return h(
      'div',
      line === null ? {} : { 'data-lines': line, role: 'button', tabindex: 0 },
      `${code}${where}: ${reason} ${hint}`,
    );
  });
  return h(
    'section',
    {},
    h('h3', {}, `${fn.name}: ${fn.summary}`),
    h('h4', {}, 'Guards'),
    list(
      fn.guards.map((guard) => h('code', {}, guard)),
      'None.',
    ),
    h('h4', {}, 'Graph breaks'),
    list(breaks, 'None: each path is one graph.'),
    h('h4', {}, 'Why it was recorded again'),
    list([...fn.recompiles], 'It was not.'),
  );
}

/** A stage: its name on the tab, and how to show it. */
export interface Stage {
  readonly name: string;
  readonly show: (seen: Exploration) => readonly HTMLElement[];
}

const NOTHING = 'The program compiled nothing: call a function that compile() made.';

/** Elements, or a word that there are none. */
function some(elements: readonly HTMLElement[], none: string = NOTHING): readonly HTMLElement[] {
  return elements.length > 0 ? elements : [h('p', { class: 'muted' }, none)];
}

/** Stages that are text, in the order of the compiler. */
export const STAGES: readonly Stage[] = [
  { name: 'Captured', show: ({ captured }) => some(captured.map(graphCode)) },
  {
    name: 'Joint',
    show: ({ joint }) =>
      some(
        joint.map((text) => h('pre', { tabindex: 0 }, h('code', {}, text))),
        'No graph has a backward pass.',
      ),
  },
  {
    name: 'Passes',
    show: ({ passes }) => some(passes.map(passElement), 'No pass changed anything.'),
  },
  {
    name: 'Forward, backward',
    show: ({ compiled }) => some(compiled.map(({ graph }) => graphCode(graph))),
  },
  kernelStage('Loops', loopsOf),
  kernelStage('Schedule', schedulesOf),
  kernelStage('Code', generatedCode),
  { name: 'Plan', show: ({ compiled }) => some(compiled.map(planElement)) },
  { name: 'Guards', show: ({ functions }) => some(functions.map(functionElement)) },
];
