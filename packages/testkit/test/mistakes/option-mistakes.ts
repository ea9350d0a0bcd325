/**
 * @file Options that nobody has, and values by position where options are: none may be ignored.
 */
import {
  DataLoader,
  GradScaler,
  LSTM,
  Linear,
  MultiheadAttention,
  Transformer,
  TransformerDecoder,
  TransformerDecoderLayer,
  TransformerEncoder,
  TransformerEncoderLayer,
  clipGradNorm_,
  optim,
  parametrize,
} from '@tessera/nn';
import {
  autocast,
  loadCheckpoint,
  loadTorchCheckpoint,
  ones,
  saveCheckpoint,
  streamSafetensors,
  zeros,
} from '@tessera/tensor';
import type { Mistake } from './mistake.js';

const any = (value: unknown): never => value as never;
const x = ones([3, 1, 4]);
const mask = zeros([3, 3]);
const encoderLayer = new TransformerEncoderLayer(4, 2);
const encoder = new TransformerEncoder(encoderLayer, 1);
const decoderLayer = new TransformerDecoderLayer(4, 2);
const decoder = new TransformerDecoder(decoderLayer, 1);
const sizes = { dModel: 4, nhead: 2, numEncoderLayers: 1, numDecoderLayers: 1 };
const transformer = new Transformer(sizes);
const layer = new Linear(2, 2);

export const OPTION_MISTAKES: readonly Mistake[] = [
  [
    "an encoder's mask by its layers' name",
    () => encoder.call(x, any({ srcMask: mask })),
    'invalid-argument',
    "'srcMask'",
    'mask',
  ],
  [
    "an encoder's mask by position",
    () => encoder.call(x, any(mask)),
    'invalid-argument',
    'not a Tensor',
    'Name them: { mask: … }.',
  ],
  [
    "an encoder layer's mask by position",
    () => encoderLayer.call(x, any(mask)),
    'invalid-argument',
    'not a Tensor',
    'Name them: { srcMask: … }.',
  ],
  [
    "a decoder layer's mask by PyTorch's name",
    () => decoderLayer.call(x, x, any({ tgt_mask: mask })),
    'invalid-argument',
    "'tgt_mask'",
    "Did you mean 'tgtMask'?",
  ],
  [
    "a decoder's mask by position",
    () => decoder.call(x, x, any(mask)),
    'invalid-argument',
    'not a Tensor',
    'Name them: { tgtMask: … }.',
  ],
  [
    "a transformer's mask in lower case",
    () => transformer.call(x, x, any({ tgtmask: mask })),
    'invalid-argument',
    "'tgtmask'",
    "Did you mean 'tgtMask'?",
  ],
  [
    'a mask of attention by position',
    () => new MultiheadAttention(4, 2).call(x, x, x, any(mask)),
    'invalid-argument',
    'not a Tensor',
    'Its options are: keyPaddingMask, needWeights, attnMask, averageAttnWeights, isCausal.',
  ],
  [
    'batch_size',
    () => new DataLoader([1], any({ batch_size: 4 })),
    'invalid-argument',
    "'batch_size'",
    "Did you mean 'batchSize'?",
  ],
  [
    'numWorkers',
    () => new DataLoader([1], any({ numWorkers: 2 })),
    'invalid-argument',
    "'numWorkers'",
    "Did you mean 'workers'?",
  ],
  [
    'a number of workers',
    () => new DataLoader([1], { workers: any(2) }),
    'invalid-argument',
    'not 2',
    'Name them: { count: 2 }.',
  ],
  [
    'workers without a module',
    () => new DataLoader([1], { workers: any({ count: 1 }) }),
    'invalid-argument',
    'workers run a module, not undefined',
    'its default export decodes a sample',
  ],
  [
    'no workers',
    () => new DataLoader([1], { workers: { module: 'decode.js', count: 0 } }),
    'invalid-argument',
    'not 0',
    'count: 2',
  ],
  [
    'weight_decay of a group',
    () => new optim.AdamW([any({ params: layer.parameters(), weight_decay: 0.5 })]),
    'invalid-argument',
    "A parameter group of AdamW has no option 'weight_decay'",
    "Did you mean 'weightDecay'?",
  ],
  [
    'init_scale',
    () => new GradScaler(any({ init_scale: 4 })),
    'invalid-argument',
    "'init_scale'",
    "Did you mean 'initScale'?",
  ],
  [
    'norm_type',
    () => clipGradNorm_(layer.parameters(), 1, any({ norm_type: 1 })),
    'invalid-argument',
    "'norm_type'",
    "Did you mean 'normType'?",
  ],
  [
    'the order of a norm by position',
    () => clipGradNorm_(layer.parameters(), 1, any(1)),
    'invalid-argument',
    'not 1',
    'normType: 1',
  ],
  [
    'dtyp of autocast',
    () => autocast(any({ dtyp: 'float16' }), () => ones([1])),
    'invalid-argument',
    "'dtyp'",
    "Did you mean 'dtype'?",
  ],
  [
    'the device of autocast by position',
    () => autocast(any('cpu'), () => ones([1])),
    'invalid-argument',
    "not 'cpu'",
    "Name them: { device: 'cpu' }.",
  ],
  [
    'the options of autocast last',
    () =>
      autocast(
        any(() => ones([1])),
        any({ dtype: 'bfloat16' }),
      ),
    'invalid-argument',
    'options come before the function',
    'Write autocast({ … }, () => …).',
  ],
  [
    'nested state as a checkpoint of tensors',
    () => saveCheckpoint('never.safetensors', any({ encoder: layer.stateDict() })),
    'invalid-argument',
    "'encoder' is an object",
    "'encoder.weight'",
  ],
  [
    'a module as a checkpoint of tensors',
    () => saveCheckpoint('never.safetensors', any(layer)),
    'invalid-argument',
    'not Linear',
    'saveCheckpoint(path, model.stateDict())',
  ],
  [
    'an optimizer as a checkpoint of tensors',
    () => saveCheckpoint('never.safetensors', any(new optim.SGD([layer.weight]))),
    'invalid-argument',
    'not SGD',
    'stateDict()',
  ],
  [
    'a misspelt option of loadCheckpoint',
    () => loadCheckpoint('never.safetensors', any({ dtyp: 'float16' })),
    'invalid-argument',
    "'dtyp'",
    "Did you mean 'dtype'?",
  ],
  [
    'a misspelt option of loadTorchCheckpoint',
    () => loadTorchCheckpoint('never.pt', any({ prefx: 'model' })),
    'invalid-argument',
    "'prefx'",
    "Did you mean 'prefix'?",
  ],
  [
    'a misspelt option of streamSafetensors',
    () => streamSafetensors('never.safetensors', any({ mmap: true })).next(),
    'invalid-argument',
    "'mmap'",
    'Its options are: signal',
  ],
  [
    'a misspelt option of saveCheckpoint',
    () => saveCheckpoint('never.safetensors', {}, any({ meta: {} })),
    'invalid-argument',
    "'meta'",
    'metadata',
  ],
  [
    'a layer without its outputs',
    () => Reflect.construct(Linear, [3]),
    'invalid-argument',
    'outFeatures must be a number.',
    'new Linear(inFeatures, outFeatures)',
  ],
  [
    'a layer of layers by position',
    () => new LSTM(3, 4, any(2)),
    'invalid-argument',
    'not 2',
    'numLayers: 2',
  ],
  [
    'avg_fn',
    () => new optim.swaUtils.AveragedModel(layer, any({ avg_fn: () => 0 })),
    'invalid-argument',
    "'avg_fn'",
    "Did you mean 'avgFn'?",
  ],
  [
    'n_power_iterations',
    () => parametrize.spectralNorm(layer, any({ n_power_iterations: 2 })),
    'invalid-argument',
    "'n_power_iterations'",
    "Did you mean 'nPowerIterations'?",
  ],
];
