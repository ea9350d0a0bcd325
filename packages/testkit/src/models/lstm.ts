/**
 * @file A bidirectional LSTM of two layers over an input whose time dimension is innermost in memory.
 */
import { LSTM } from '@tessera/nn';
import type { RecordedModel } from './recorded-model.js';

export const lstm: RecordedModel = {
  name: 'lstm',
  build: () => new LSTM(64, 64, { numLayers: 2, bidirectional: true }),
  loss: (output) => output.sum().div(100),
  timeLast: true,
};
