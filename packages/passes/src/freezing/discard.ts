/**
 * @file Releasing frozen parameters.
 *
 * A discarded parameter keeps its shape, dtype and identity, which compiled code still checks, but not
 * its memory: any other use says that the module was frozen. Requests are collected and carried out
 * together, so that several graphs of one compiled call may freeze the same parameter.
 */
import { TesseraError } from '@tessera/shared';
import { Storage, type Tensor } from '@tessera/tensor';

/** Called when a parameter got its empty storage. */
type OnDiscard = (tensor: Tensor) => void;

interface Request {
  readonly name: string;
  readonly listeners: Set<OnDiscard>;
}

const requests = new Map<Tensor, Request>();

/** Asks for a parameter to be released at the next `discardFrozen`. */
export function requestDiscard(tensor: Tensor, name: string, listener: OnDiscard): void {
  const known = requests.get(tensor);
  if (known === undefined) requests.set(tensor, { name, listeners: new Set([listener]) });
  else known.listeners.add(listener);
}

/** Releases what was asked for; called when a compiled function has run. */
export function discardFrozen(): void {
  if (requests.size === 0) return;
  const batch = [...requests];
  requests.clear();
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
