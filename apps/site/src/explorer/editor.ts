/**
 * @file The editor: TypeScript with colours, and lines that are marked when something that came from them is selected.
 */
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { javascript } from '@codemirror/lang-javascript';
import { HighlightStyle, bracketMatching, syntaxHighlighting } from '@codemirror/language';
import {
  Compartment,
  EditorState,
  type Extension,
  StateEffect,
  StateField,
} from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';

const markLines = StateEffect.define<ReadonlySet<number>>();
const linked = Decoration.line({ class: 'cm-linked' });

const markedLines = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let next = marks.map(transaction.changes);
    for (const effect of transaction.effects)
      if (effect.is(markLines)) {
        const { doc } = transaction.state;
        const lines = [...effect.value].filter((line) => line >= 1 && line <= doc.lines);
        next = Decoration.set(
          lines.sort((a, b) => a - b).map((line) => linked.range(doc.line(line).from)),
        );
      }
    return next;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Readable on both themes. */
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.modifier], color: 'light-dark(#a0111f, #ff9492)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'light-dark(#032563, #addcff)' },
  { tag: [tags.number, tags.bool], color: 'light-dark(#023b95, #91cbff)' },
  { tag: tags.comment, color: 'light-dark(#4b535d, #bdc4cc)' },
  { tag: [tags.typeName, tags.className], color: 'light-dark(#702c00, #ffb757)' },
  { tag: tags.function(tags.variableName), color: 'light-dark(#622cbc, #dbb7ff)' },
]);

/** The editor of the page. */
export class Editor {
  private readonly view: EditorView;
  private readonly later = new Compartment();

  /**
   * @param selected called with the line of the cursor when it moves
   * @param run called for Ctrl+Enter; null for a text that is only read
   */
  constructor(
    place: HTMLElement,
    source: string,
    selected: (line: number) => void,
    run: (() => void) | null,
  ) {
    const state = EditorState.create({
      doc: source,
      extensions: [
        lineNumbers(),
        history(),
        highlightActiveLine(),
        bracketMatching(),
        javascript({ typescript: true }),
        syntaxHighlighting(colours),
        markedLines,
        this.later.of([]),
        EditorState.readOnly.of(run === null),
        EditorView.contentAttributes.of({ 'aria-label': 'Program', tabindex: '0' }),
        keymap.of([
          ...(run === null ? [] : [{ key: 'Mod-Enter', run: () => (run(), true) }]),
          ...defaultKeymap,
          ...historyKeymap,
        ]),
        EditorView.updateListener.of((update) => {
          if (!update.selectionSet || update.docChanged) return;
          selected(update.state.doc.lineAt(update.state.selection.main.head).number);
        }),
      ],
    });
    this.view = new EditorView({ state, parent: place });
  }

  /** The program. */
  get source(): string {
    return this.view.state.doc.toString();
  }

  set source(text: string) {
    this.view.dispatch({ changes: { from: 0, to: this.view.state.doc.length, insert: text } });
  }

  /** Adds what was not there when the editor was made, in place of what was added before. */
  extend(extension: Extension): void {
    this.view.dispatch({ effects: this.later.reconfigure(extension) });
  }

  /** Marks lines, and no others. */
  mark(lines: ReadonlySet<number>): void {
    this.view.dispatch({ effects: markLines.of(lines) });
  }
}
