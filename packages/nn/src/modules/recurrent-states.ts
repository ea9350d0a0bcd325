/**
 * @file The states that recurrent networks and cells are given: a tensor, or for an LSTM a pair of them.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, isTensor } from '@tessera/tensor';
import type { CellState } from '@tessera/tensor/internal';

function refuse(owner: string, hint: string): never {
  throw new TesseraError('invalid-argument', `${owner}: that is no state to begin with.`, {
    hints: [hint],
  });
}

/** The state of an `RNN` or a `GRU`; null: it starts at zero. @throws invalid-argument */
export function hiddenOf(owner: string, state: Tensor | null): CellState | null {
  if (state === null) return null;
  return isTensor(state)
    ? { hidden: state, cell: null }
    : refuse(owner, 'Pass one tensor, hidden, or nothing.');
}

/** The states of an LSTM; null: they start at zero. @throws invalid-argument */
export function statesOf(
  owner: string,
  states: readonly [hidden: Tensor, cell: Tensor] | null,
): (CellState & { readonly cell: Tensor }) | null {
  if (states === null) return null;
  return Array.isArray(states) && states.length === 2 && states.every(isTensor)
    ? { hidden: states[0], cell: states[1] }
    : refuse(owner, 'Pass two tensors, [hidden, cell], or nothing.');
}
