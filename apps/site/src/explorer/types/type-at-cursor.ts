/**
 * @file The type at the cursor by a key, for those who do not point: shown where hovering shows it, and told to screen
 * readers. It goes with the next key that moves or types, or with Escape.
 */
import { type Extension, StateEffect, StateField } from '@codemirror/state';
import { EditorView, type Tooltip, keymap, showTooltip } from '@codemirror/view';

/** Two strokes, as editors have it that people know. The page names them too. */
const KEY = 'Mod-k Mod-i';

/** A tooltip, and what it says. */
export interface ToldTooltip {
  readonly tooltip: Tooltip;
  readonly text: string;
}

const show = StateEffect.define<Tooltip | null>();

const shown = StateField.define<Tooltip | null>({
  create: () => null,
  update(tooltip, transaction) {
    for (const effect of transaction.effects) if (effect.is(show)) return effect.value;
    return transaction.docChanged || transaction.selection !== undefined ? null : tooltip;
  },
  provide: (field) => showTooltip.from(field),
});

/** Where the name is that the cursor is in, or just behind. */
function namePosition({ state }: EditorView): number {
  const { head } = state.selection.main;
  const isInside = /[\w$]/.test(state.sliceDoc(head, head + 1));
  return isInside ? head : Math.max(0, head - 1);
}

/** @param ask for what is known at a position; it says so where nothing is */
export function typeAtCursor(
  ask: (view: EditorView, position: number) => Promise<ToldTooltip>,
): Extension {
  const open = (view: EditorView): boolean => {
    const { doc, selection } = view.state;
    void ask(view, namePosition(view)).then(({ tooltip, text }) => {
      // Something was typed while the answer was on its way.
      if (view.state.doc !== doc || !view.state.selection.eq(selection)) return;
      view.dispatch({ effects: [show.of(tooltip), EditorView.announce.of(text)] });
    });
    return true;
  };
  const close = (view: EditorView): boolean => {
    if (view.state.field(shown) === null) return false;
    view.dispatch({ effects: show.of(null) });
    return true;
  };
  return [
    shown,
    keymap.of([
      { key: KEY, run: open },
      { key: 'Escape', run: close },
    ]),
  ];
}
