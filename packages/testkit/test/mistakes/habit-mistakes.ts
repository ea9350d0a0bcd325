/**
 * @file Habits from Python, PyTorch and JavaScript that mean something else here.
 */
import { compile } from '@tessera/compile';
import { BatchNorm2d, Conv2d, LSTM, Linear, MSELoss, MaxPool2d, optim } from '@tessera/nn';
import { arange, full, ones, randn, tensor, zerosLike, zeros } from '@tessera/tensor';
import type { Mistake } from './mistake.js';

/** What TypeScript would refuse. */
const any = (value: unknown): never => value as never;
const asNumber = (value: unknown): number => value as number;
const anyCall = (target: unknown, name: string, ...args: readonly unknown[]): unknown =>
  (target as Record<string, (...args: readonly unknown[]) => unknown>)[name]!(...args);
type AnyClass = new (...args: readonly unknown[]) => unknown;
const make = (type: unknown, ...args: readonly unknown[]): unknown =>
  new (type as AnyClass)(...args);

export const HABIT_MISTAKES: readonly Mistake[] = [
  ['x * 2', () => asNumber(ones([2])) * 2, 'operator-on-tensor', 'operators', 'x.mul(2)'],
  [
    'x - y',
    () => asNumber(ones([2])) - asNumber(ones([2])),
    'operator-on-tensor',
    '- ',
    'x.add(y)',
  ],
  ['loss < best', () => asNumber(ones([])) < 3, 'operator-on-tensor', '<', 'loss.item() < best'],
  ["'loss ' + loss", () => `${'loss '}` + any(ones([])), 'operator-on-tensor', '+', 'For text'],
  [
    'Math.max(x, 0)',
    () => Math.max(asNumber(ones([])), 0),
    'operator-on-tensor',
    'numbers',
    'item()',
  ],
  ['x.size()', () => anyCall(ones([2]), 'size'), 'invalid-argument', 'which dimension', 'x.shape'],
  ["x.to('cuda')", () => ones([2]).to(any('cuda')), 'device-unavailable', 'cuda', "'wgpu'"],
  ["x.to('cuda:0')", () => ones([2]).to(any('cuda:0')), 'device-unavailable', 'cuda:0', "'wgpu'"],
  ["x.to('float')", () => ones([2]).to(any('float')), 'device-unavailable', 'float', "'float32'"],
  ["x.to('long')", () => ones([2]).to(any('long')), 'device-unavailable', 'long', "'int64'"],
  ['x.reshape(-1)', () => anyCall(ones([2, 2]), 'reshape', -1), 'schema-arguments', '-1', '[-1]'],
  ['x.view(2, 1)', () => anyCall(ones([2]), 'view', 2, 1), 'schema-arguments', 'size', '[2]'],
  [
    'x.permute(1, 0)',
    () => anyCall(ones([2, 2]), 'permute', 1, 0),
    'schema-arguments',
    'dims',
    '[1]',
  ],
  [
    'x.add([1, 2])',
    () => anyCall(ones([2]), 'add', [1, 2]),
    'schema-arguments',
    '[1, 2]',
    'tensor',
  ],
  ["x.add('1')", () => anyCall(ones([2]), 'add', '1'), 'schema-arguments', 'string 1', 'tensor'],
  ['zeros(2, 3)', () => zeros(any(2), any(3)), 'invalid-argument', 'Options', 'randn([2, 3])'],
  [
    'tensor(values, [2, 2])',
    () => tensor(new Float32Array(4), any([2, 2])),
    'invalid-argument',
    'Options are an object',
    'tensor(values).view([2, 3])',
  ],
  [
    'x.expand(2, 3)',
    () => anyCall(ones([1, 3]), 'expand', 2, 3),
    'schema-arguments',
    'size',
    '[2]',
  ],
  [
    'x.repeat(2, 1)',
    () => anyCall(ones([2]), 'repeat', 2, 1),
    'schema-arguments',
    'repeats',
    '[2]',
  ],
  [
    'x.flip(0, 1)',
    () => anyCall(ones([2, 2]), 'flip', 0, 1),
    'invalid-argument',
    'one',
    '([0, 1])',
  ],
  [
    'x.squeeze(0, 1)',
    () => anyCall(ones([1, 1]), 'squeeze', 0, 1),
    'invalid-argument',
    'squeeze takes one',
    'squeeze([0, 1])',
  ],
  ['x.sum(0, 1)', () => anyCall(ones([2, 2]), 'sum', 0, 1), 'invalid-argument', '1', 'sum([…, 1])'],
  [
    'x.norm({ dim })',
    () => anyCall(ones([2, 2]), 'norm', { dim: 1 }),
    'schema-arguments',
    '{dim}',
    'Given by position: ord, dim.',
  ],
  [
    'x.norm(2, { dim })',
    () => anyCall(ones([2, 2]), 'norm', 2, { dim: 1, keepdim: true }),
    'schema-arguments',
    '{dim, keepdim}',
    'Given by position: dim.',
  ],
  [
    'x.diagonal({ dim1, dim2 })',
    () => anyCall(ones([2, 2, 2]), 'diagonal', { dim1: 0, dim2: 2 }),
    'schema-arguments',
    '{dim1, dim2}',
    'Given by position: offset, dim1, dim2.',
  ],
  [
    'condition.where(x, y)',
    () => anyCall(ones([2]).gt(0), 'where', ones([2]), ones([2])),
    'dtype-mismatch',
    'condition',
    'x.where(condition, y)',
  ],
  [
    'x.data',
    () => (ones([2]) as unknown as { data: unknown }).data,
    'invalid-argument',
    '.data',
    'x.detach()',
  ],
  [
    'x.data = y',
    () => Object.assign(ones([2]), { data: ones([2]) }),
    'invalid-argument',
    '.data',
    'x.copy_(y)',
  ],
  ['x.add()', () => anyCall(ones([2]), 'add'), 'schema-arguments', 'undefined', 'tensor'],
  [
    'requires_grad',
    () => ones([2], any({ requires_grad: true })),
    'invalid-argument',
    'requires_grad',
    "'requiresGrad'",
  ],
  ['zeros([2], float)', () => zeros([2], any('float64')), 'invalid-argument', 'float64', 'dtype'],
  [
    'a misspelt dtype option',
    () => tensor([1], any({ dtpye: 'int64' })),
    'invalid-argument',
    'dtpye',
    "'dtype'",
  ],
  [
    'zerosLike(x, dtype)',
    () => zerosLike(ones([2]), any('int64')),
    'invalid-argument',
    'int64',
    'dtype',
  ],
  [
    'randn with mean',
    () => randn([2], any({ mean: 3 })),
    'invalid-argument',
    'mean',
    'requiresGrad',
  ],
  [
    'arange with type',
    () => arange(3, any({ type: 'int64' })),
    'invalid-argument',
    'type',
    "'dtype'",
  ],
  [
    'full without a value',
    () => full([2], any(undefined)),
    'schema-arguments',
    'undefined',
    'number',
  ],
  ['new Linear(3, 2, false)', () => make(Linear, 3, 2, false), 'invalid-argument', 'false', 'bias'],
  [
    'a misspelt bias',
    () => make(Linear, 3, 2, { biass: false }),
    'invalid-argument',
    'biass',
    "'bias'",
  ],
  [
    'padding_mode',
    () => make(Conv2d, 1, 2, 3, { padding_mode: 'zeros' }),
    'invalid-argument',
    'padding_mode',
    "'paddingMode'",
  ],
  ['a stride by position', () => make(Conv2d, 1, 2, 3, 2), 'invalid-argument', '2', 'stride'],
  ['MaxPool2d(2, 2)', () => make(MaxPool2d, 2, 2), 'invalid-argument', '2', 'stride'],
  [
    'track_running_stats',
    () => make(BatchNorm2d, 3, { track_running_stats: false }),
    'invalid-argument',
    'track_running_stats',
    "'trackRunningStats'",
  ],
  [
    'batch_first',
    () => make(LSTM, 3, 4, { batch_first: true }),
    'invalid-argument',
    'batch_first',
    "'batchFirst'",
  ],
  ["MSELoss('sum')", () => make(MSELoss, 'sum'), 'invalid-argument', 'sum', 'reduction'],
  [
    'weight_decay',
    () => make(optim.AdamW, [ones([2], { requiresGrad: true })], { weight_decay: 0.1 }),
    'invalid-argument',
    'weight_decay',
    "'weightDecay'",
  ],
  [
    'an operator in a compiled function',
    () => compile((x) => asNumber(x) * 2)(ones([2])),
    'operator-on-tensor',
    'operators',
    'x.mul(2)',
  ],
];
