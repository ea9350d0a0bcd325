/**
 * @file Releasing frozen parameters.
 *
 * A discarded parameter keeps its shape, dtype and identity, which compiled code still checks, but not
 * its memory: any other use says that the module was frozen. Requests are collected per compiled function
 * and carried out together, so that its graphs may freeze the same parameter.
 */
import { TesseraError } from '@tessera/shared';
import { Storage, type Tensor } from '@tessera/tensor';

/** Called when a parameter got its empty storage. */
type OnDiscard = (tensor: Tensor) => void;

interface Request {
  readonly name: string;
  readonly listeners: Set<OnDiscard>;
}

/** Whoever is called now; graphs outside any compiled function share one owner. */
let owner: object = {};
const requests = new Map<object, Map<Tensor, Request>>();

/** Makes what is frozen from now on wait for `next`; returns the owner before. */
export function discardFor(next: object): object {
  const before = owner;
  owner = next;
  return before;
}

/** Asks for a parameter to be released at the next `discardFrozen`. */
export function requestDiscard(tensor: Tensor, name: string, listener: OnDiscard): void {
  let own = requests.get(owner);
  if (own === undefined) requests.set(owner, (own = new Map()));
  const known = own.get(tensor);
  if (known === undefined) own.set(tensor, { name, listeners: new Set([listener]) });
  else known.listeners.add(listener);
}

/** Releases what was asked for under an owner, once `isReady`: all its graphs are compiled. */
export function discardFrozen(from: object, isReady: () => boolean): void {
  if (requests.size === 0) return;
  const batch = requests.get(from);
  if (batch === undefined || !isReady()) return;
  requests.delete(from);
  for (const [tensor, { name, listeners }] of batch) {
    if (tensor.storage.isWithdrawn) continue;
    const { device, nbytes } = tensor.storage;
    tensor.setStorage(Storage.withdrawn(device, nbytes, (what) => frozenError(what, name)));
    for (const listener of listeners) listener(tensor);
  }
}

function frozenError(what: string, name: string): TesseraError {
  return new TesseraError(
    'frozen-parameter',
    `Trying to run Tessera Eager Module after Tessera Freezing. The original parameters have been discarded for memory efficiency. Found in ${what} for erased parameter ${name}.`,
    {
      context: { parameter: name, operation: what },
      hints: [
        'Set config freezingDiscardParameters to false to go on using the module in eager or for other shapes.',
        'Load the parameters anew to run it in eager.',
      ],
    },
  );
}
