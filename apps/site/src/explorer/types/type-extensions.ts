/**
 * @file What the editor shows of types: errors as they are typed, declarations of names that are pointed at or at the cursor, and members to
 * choose from. All of it comes from a worker, so typing never waits.
 */
import {
  autocompletion,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { type Diagnostic, lintKeymap, linter } from '@codemirror/lint';
import type { Extension } from '@codemirror/state';
import { type EditorView, type Tooltip, hoverTooltip, keymap } from '@codemirror/view';
import { h } from '../elements.js';
import { type ToldTooltip, typeAtCursor } from './type-at-cursor.js';
import type { TypeClient } from './type-client.js';
import type { TypeHover } from './type-messages.js';

/** Icons of CodeMirror by TypeScript's kinds. */
const ICONS: Readonly<Record<string, string>> = {
  const: 'constant',
  let: 'variable',
  var: 'variable',
  'local var': 'variable',
  parameter: 'variable',
  method: 'method',
  function: 'function',
  property: 'property',
  getter: 'property',
  class: 'class',
  interface: 'interface',
  type: 'type',
  alias: 'variable',
  keyword: 'keyword',
};

/** Milliseconds after the last key until errors are asked for. */
const DELAY = 300;

/** What is said of a place without a name. */
const NOTHING = 'Nothing is known of this place.';

function tooltipOf({ from, to, declaration, documentation }: TypeHover): Tooltip {
  const dom = h(
    'div',
    { class: 'type-hover' },
    h('code', {}, declaration),
    ...(documentation === '' ? [] : [h('p', {}, documentation)]),
  );
  return { pos: from, end: to, create: () => ({ dom }) };
}

/** The extensions of an editor. */
export function typeExtensions(client: TypeClient): Extension {
  const problems = async ({ state }: EditorView): Promise<Diagnostic[]> => {
    const found = await client.ask('problems', state.doc.toString());
    return (found ?? []).map((problem) => ({ ...problem, severity: 'error' }));
  };
  const complete = async ({
    state,
    pos,
    explicit,
  }: CompletionContext): Promise<CompletionResult | null> => {
    const word = /[\w$]*$/.exec(state.sliceDoc(0, pos))![0];
    const from = pos - word.length;
    if (!explicit && word === '' && state.sliceDoc(from - 1, from) !== '.') return null;
    const names = await client.ask('completions', state.doc.toString(), pos);
    if (names === null) return null;
    const options = names.map(({ name, kind }) => ({ label: name, type: ICONS[kind] }));
    return { from, options, validFor: /^[\w$]*$/ };
  };
  const ask = ({ state }: EditorView, position: number): Promise<TypeHover | null> =>
    client.ask('hover', state.doc.toString(), position);
  const hover = async (view: EditorView, position: number): Promise<Tooltip | null> => {
    const known = await ask(view, position);
    return known === null ? null : tooltipOf(known);
  };
  const told = async (view: EditorView, position: number): Promise<ToldTooltip> => {
    const nothing = { from: position, to: position, declaration: NOTHING, documentation: '' };
    const known = (await ask(view, position)) ?? nothing;
    return { tooltip: tooltipOf(known), text: `${known.declaration}\n${known.documentation}` };
  };
  return [
    linter(problems, { delay: DELAY }),
    autocompletion({ override: [complete] }),
    hoverTooltip(hover),
    typeAtCursor(told),
    keymap.of([...completionKeymap, ...lintKeymap]),
  ];
}
