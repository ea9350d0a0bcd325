/**
 * @file The error of `structuredClone(x)` and `postMessage(x)`.
 *
 * Hosts copy an object field by field and ask it nothing, so a tensor cannot say how it is copied. But they read
 * getters, also those of objects further in. Each tensor's first field is this one object, whose only field throws:
 * otherwise the host's own error names a field deep inside of a storage.
 */
import { TesseraError } from '@tessera/shared';

/** See the file header. */
export const NOT_CLONEABLE: object = {
  get copied(): never {
    throw new TesseraError(
      'tensor-not-cloneable',
      'structuredClone and postMessage cannot copy a tensor.',
      {
        hints: [
          'A copy: x.clone().',
          'To another thread: send x.toTypedArray() and x.shape; there, fromTypedArray(data, shape).',
          'A model: send serializeSafetensors(model.stateDict()); there, parseSafetensors(bytes).',
        ],
      },
    );
  },
};
