/**
 * @file Operators whose results have sizes that depend on values, awaited: on `cpu` and WebGPU they give what the
 * synchronous ones give on `cpu`, and of WebGPU's values only a number or two are read.
 */
import { compile, explain, initWebGpu } from '@tessera/compile';
import {
  type DeviceType,
  type Tensor,
  arange,
  argwhere,
  bincount,
  download,
  full,
  grad,
  index,
  isTensor,
  manualSeed,
  maskedSelect,
  noGrad,
  nonzero,
  ones,
  rand,
  randint,
  randn,
  repeatInterleave,
  tensor,
  tidy,
  unique,
  uniqueConsecutive,
  zeros,
} from '@tessera/tensor';
import {
  argwhereAsync,
  bincountAsync,
  indexAsync,
  maskedSelectAsync,
  nonzeroAsync,
  nonzeroNumpyAsync,
  repeatInterleaveAsync,
  uniqueAsync,
  uniqueConsecutiveAsync,
} from '@tessera/tensor/awaited';
import { deviceRuntime, toDevice } from '@tessera/tensor/internal';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { assertCloseAsync } from '../src/index.js';
import { fullTests, sampleName, sampled } from '../../../tooling/full-tests.js';
import { wantsGpu } from '../../../tooling/wants-gpu.js';

const DEVICES: readonly DeviceType[] = wantsGpu ? ['cpu', 'wgpu'] : ['cpu'];

type Results = Tensor | readonly Tensor[];
const listOf = (results: Results): readonly Tensor[] => (isTensor(results) ? [results] : results);

/** Shapes, dtypes and values. */
async function said(results: Results): Promise<unknown> {
  const seen = [];
  for (const each of listOf(results))
    seen.push([each.sizes, each.dtype, (await download(each)).toArray()]);
  return seen;
}

const read = async (x: Tensor): Promise<unknown> => (await download(x)).toArray();

/** A function, its awaited form, and what both are given: on `cpu`, and on the device. */
interface Sample {
  readonly name: string;
  readonly now: (...inputs: Tensor[]) => Results;
  readonly later: (...inputs: Tensor[]) => Promise<Results>;
  readonly inputs: () => readonly Tensor[];
}

const long = (...data: number[]): Tensor => tensor(data, { dtype: 'int64' });
const bools = (...sizes: number[]): Tensor => rand(sizes).lt(0.4);
const all = { returnInverse: true, returnCounts: true } as const;

/** Few values, zeros of both signs. */
const mixed = (...sizes: number[]): Tensor => randn(sizes).mul(2).round();
const withNan = (...sizes: number[]): Tensor => mixed(...sizes).maskedFill(bools(...sizes), NaN);

const nonzeros: Sample[] = [
  ['a vector', () => mixed(100)],
  ['a matrix', () => mixed(13, 21)],
  ['five dimensions', () => bools(2, 3, 1, 4, 5)],
  ['NaN', () => withNan(9, 3)],
  ['zeros of both signs', () => tensor([0, -0, 1])],
  ['integers', () => randint(-2, 3, [50])],
  ['bytes', () => randint(0, 3, [4, 9]).to('uint8')],
  ['float16', () => mixed(40).to('float16')],
  ['a transposed view', () => mixed(7, 11).t()],
  ['a strided view', () => mixed(30, 8).index('1::3', '2:')],
  ['an expanded view', () => mixed(1, 6).expand([4, 6])],
  ['nothing that holds', () => zeros([4, 5])],
  ['all that holds', () => ones([300])],
  ['no elements', () => zeros([0, 3])],
  ['a scalar that holds', () => tensor(3)],
  ['a scalar that does not', () => tensor(0)],
].map(([name, input]) => ({
  name: `nonzero of ${name as string}`,
  now: (x) => [nonzero(x), argwhere(x)],
  later: async (x) => [await nonzeroAsync(x), await argwhereAsync(x)],
  inputs: () => [(input as () => Tensor)()],
}));

const masked: Sample[] = [
  ['one shape', () => [mixed(20, 3), bools(20, 3)]],
  ['a mask that is broadcast', () => [mixed(20, 3), bools(3)]],
  ['a tensor that is broadcast', () => [mixed(1, 3), bools(4, 1)]],
  ['scalars', () => [tensor(2), tensor(true)]],
  ['integers', () => [randint(0, 9, [60]), bools(60)]],
  ['bools', () => [bools(60), bools(60)]],
  ['bfloat16', () => [mixed(60).to('bfloat16'), bools(60)]],
  ['NaN', () => [withNan(60), bools(60)]],
  ['nothing', () => [mixed(6), zeros([6]).to('bool')]],
  ['no elements', () => [zeros([0]), zeros([0]).to('bool')]],
  ['views', () => [mixed(9, 8).t(), bools(9, 16).t().index('::2')]],
].map(([name, inputs]) => ({
  name: `maskedSelect of ${name as string}`,
  now: maskedSelect,
  later: maskedSelectAsync,
  inputs: inputs as () => Tensor[],
}));

const indexed: Sample[] = (
  [
    ['a whole mask', () => [mixed(5, 4), bools(5, 4)], (x, m) => [x, m]],
    ['a mask of rows', () => [mixed(9, 2, 3), bools(9)], (x, m) => [x, m]],
    ['a mask in the middle', () => [mixed(2, 3, 4, 5), bools(3, 4)], (x, m) => [x, ':', m]],
    ['a mask of columns', () => [mixed(4, 9), bools(9)], (x, m) => [x, ':', m]],
    ['a mask at the end', () => [mixed(4, 2, 9), bools(9)], (x, m) => [x, '...', m]],
    ['a mask after a number', () => [mixed(4, 9), bools(9)], (x, m) => [x, 2, m]],
    ['a mask and indices', () => [mixed(6, 5), full([6], 1).to('bool')], (x, m) => [x, m, 2]],
    [
      'a mask beside an index',
      () => [mixed(6, 5), tensor([true, false, true, false, false, false])],
      (x, m) => [x, m, toDevice(long(4, 0), x.device)],
    ],
    [
      'two masks',
      () => [mixed(3, 4), tensor([true, false, true]), tensor([false, true, true, false])],
      (x, m, n) => [x, m, n!],
    ],
    ['a mask of bytes', () => [mixed(9), bools(9).to('uint8')], (x, m) => [x, m]],
    ['a mask without dimensions', () => [mixed(3), tensor(true)], (x, m) => [x, m]],
    [
      'a mask on the CPU',
      () => [mixed(9, 2)],
      (x) => [x, tensor([1, 0, 1, 1, 0, 0, 1, 0, 1]).gt(0)],
    ],
    ['a list of truth values', () => [mixed(3, 2)], (x) => [x, [true, false, true]]],
    ['no mask', () => [mixed(5, 4)], (x) => [x, ':', -1]],
    ['a list of tensors', () => [mixed(5, 4), bools(4)], (x, m) => [x, [null, m]]],
    ['rows without elements', () => [zeros([4, 0]), bools(4)], (x, m) => [x, m]],
  ] as [string, () => Tensor[], (x: Tensor, m: Tensor, n?: Tensor) => Parameters<typeof index>][]
).map(([name, inputs, items]) => ({
  name: `index by ${name}`,
  now: (x, m, n) => index(...items(x!, m!, n)),
  later: (x, m, n) => indexAsync(...items(x!, m!, n)),
  inputs,
}));

const distinct: Sample[] = (
  [
    ['a vector', () => mixed(200), null],
    ['a long vector', () => randint(0, 700, [3000]), null],
    ['a matrix', () => mixed(13, 5), null],
    ['NaN', () => withNan(40), null],
    ['zeros of both signs', () => tensor([0, -0, 1, -0]), null],
    ['infinities', () => tensor([Infinity, 1, -Infinity, Infinity, NaN]), null],
    ['bools', () => bools(30), null],
    ['bytes', () => randint(0, 9, [40]).to('uint8'), null],
    ['float16', () => mixed(40).to('float16'), null],
    ['one element', () => tensor([5]), null],
    ['a scalar', () => tensor(5), null],
    ['no elements', () => zeros([0]), null],
    ['no elements in two dimensions', () => zeros([2, 0]), null],
    ['a view', () => mixed(8, 9).t(), null],
    ['rows', () => randint(0, 2, [40, 3]), 0],
    ['columns', () => randint(0, 2, [3, 40]), -1],
    ['wide rows', () => randint(0, 2, [30, 9]).mul(randint(0, 2, [30, 1])), 0],
    ['slices', () => randint(0, 2, [2, 20, 2]).to('float32'), 1],
    ['elements along a dimension', () => mixed(50), 0],
    ['slices of bools', () => bools(20, 2), 0],
    ['one slice', () => mixed(1, 4), 0],
    ['no slices', () => zeros([0, 4]), 0],
  ] as [string, () => Tensor, number | null][]
).flatMap(([name, input, dim]) => [
  {
    name: `unique of ${name}`,
    now: (x) => unique(x!, { ...all, dim }),
    later: (x) => uniqueAsync(x!, { ...all, dim }),
    inputs: () => [input()],
  },
  {
    name: `uniqueConsecutive of ${name}`,
    now: (x) => uniqueConsecutive(x!, { ...all, dim }),
    later: (x) => uniqueConsecutiveAsync(x!, { ...all, dim }),
    inputs: () => [input()],
  },
]);

const counted: Sample[] = [
  {
    name: 'bincount',
    now: (x) => bincount(x),
    later: (x) => bincountAsync(x),
    inputs: () => [randint(0, 20, [300])],
  },
  {
    name: 'bincount of bytes',
    now: (x) => bincount(x),
    later: (x) => bincountAsync(x),
    inputs: () => [randint(0, 256, [300]).to('uint8')],
  },
  {
    name: 'bincount with minlength',
    now: (x) => bincount(x, { minlength: 40 }),
    later: (x) => bincountAsync(x, { minlength: 40 }),
    inputs: () => [randint(0, 20, [30])],
  },
  {
    name: 'bincount with weights',
    now: (x, weights) => bincount(x, { weights: weights! }),
    later: (x, weights) => bincountAsync(x, { weights: weights! }),
    inputs: () => [randint(0, 20, [300]), randint(0, 9, [300]).to('float32')],
  },
  {
    name: 'bincount of nothing',
    now: (x) => bincount(x, { minlength: 3 }),
    later: (x) => bincountAsync(x, { minlength: 3 }),
    inputs: () => [long()],
  },
  ...(
    [
      ['elements', () => [mixed(4, 3), randint(0, 4, [12])], null],
      ['rows', () => [mixed(9, 2), randint(0, 4, [9])], 0],
      ['columns', () => [mixed(2, 9), randint(0, 4, [9]).to('int32')], 1],
      ['elements by one count', () => [mixed(9), long(3)], 0],
      ['a scalar', () => [tensor(7), long(3)], null],
      ['elements no times', () => [mixed(5), zeros([5]).to('int64')], 0],
      ['nothing', () => [zeros([0]), long()], 0],
    ] as [string, () => Tensor[], number | null][]
  ).map(([name, inputs, dim]): Sample => ({
    name: `repeatInterleave of ${name}`,
    now: (x, repeats) => repeatInterleave(x, repeats!, dim),
    later: (x, repeats) => repeatInterleaveAsync(x, repeats!, dim),
    inputs,
  })),
];

const SAMPLES = [...nonzeros, ...masked, ...indexed, ...distinct, ...counted];

let gpuOf: Awaited<ReturnType<typeof initWebGpu>> | null = null;

/** How many kernels a call launches. */
async function launches(fn: () => Promise<unknown>): Promise<number> {
  const spy = vi.spyOn(gpuOf!.runtime.stream, 'dispatch');
  try {
    await fn();
    return spy.mock.calls.length;
  } finally {
    spy.mockRestore();
  }
}

/** What a call reads of WebGPU: the number of reads and the bytes. */
async function reads(fn: () => Promise<unknown>): Promise<{ reads: number; bytes: number }> {
  const runtime = deviceRuntime('wgpu');
  const spy = vi.spyOn(runtime, 'download');
  try {
    await fn();
    const bytes = spy.mock.calls.reduce(
      (sum, [, , dtype, count]) => sum + count * runtime.itemSize(dtype),
      0,
    );
    return { reads: spy.mock.calls.length, bytes };
  } finally {
    spy.mockRestore();
  }
}

/** Gradients of x under the sum of f(x) times numbers that differ. */
function gradOf(x: Tensor, y: Tensor, createGraph = false): Tensor {
  const weights = arange(1, y.numel + 1, { device: y.device }).reshape(y.shape);
  return grad([y.mul(weights).sum()], [x], { createGraph })[0]!;
}

beforeAll(async () => {
  if (wantsGpu) gpuOf = await initWebGpu();
});

describe.each(DEVICES)('awaited on %s', (device) => {
  const seed = Number(process.env['TESSERA_SEED'] ?? Math.floor(Math.random() * 1e6));
  it.each(SAMPLES.map((sample) => [sample.name, sample] as const))(
    `%s (seed ${seed})`,
    async (_, { now, later, inputs }) => {
      manualSeed(seed);
      const given = inputs();
      const expected = await said(now(...given));
      const moved = given.map((x) => toDevice(x, device));
      const results = await later(...moved);
      for (const each of listOf(results)) expect(each.device).toBe(device);
      expect(await said(results)).toEqual(expected);
    },
  );
});

describe.each(DEVICES)('gradients on %s', (device) => {
  const mask = tensor([true, false, true, true, false, true]);
  const cases: [string, (x: Tensor) => Promise<Tensor>, (x: Tensor) => Tensor, number[]][] = [
    [
      'maskedSelect',
      (x) => maskedSelectAsync(x, toDevice(mask, x.device)),
      (x) => maskedSelect(x, mask),
      [6],
    ],
    [
      'maskedSelect of what is broadcast',
      (x) => maskedSelectAsync(x, toDevice(mask, x.device)),
      (x) => maskedSelect(x, mask),
      [3, 1],
    ],
    [
      'maskedSelect of nothing',
      (x) => maskedSelectAsync(x, x.gt(100)),
      (x) => maskedSelect(x, x.gt(100)),
      [4],
    ],
    [
      'index',
      (x) => indexAsync(x, ':', toDevice(mask, x.device)),
      (x) => index(x, ':', mask),
      [2, 6, 3],
    ],
    [
      'index by two masks',
      (x) => indexAsync(x, toDevice(mask, x.device), toDevice(mask, x.device)),
      (x) => index(x, mask, mask),
      [6, 6],
    ],
    [
      'repeatInterleave',
      (x) => repeatInterleaveAsync(x, toDevice(long(2, 0, 3), x.device), 0),
      (x) => repeatInterleave(x, long(2, 0, 3), 0),
      [3, 2],
    ],
  ];
  it.each(cases)('%s', async (_, later, now, sizes) => {
    const x = randn(sizes);
    const [own, expected] = [toDevice(x, device).requiresGrad_(), x.clone().requiresGrad_()];
    const [y, wanted] = [await later(own), now(expected)];
    expect(y.requiresGrad).toBe(true);
    expect(await said(gradOf(own, y))).toEqual(await said(gradOf(expected, wanted)));
  });

  it('of gradients', async () => {
    const x = randn([6]);
    const second = async (own: Tensor, y: Tensor): Promise<unknown> => {
      const first = gradOf(own, y.square(), true);
      return said(gradOf(own, first.mul(own).sum()));
    };
    const [own, expected] = [toDevice(x, device).requiresGrad_(), x.clone().requiresGrad_()];
    const later = await maskedSelectAsync(own, toDevice(mask, device));
    expect(await second(own, later)).toEqual(await second(expected, maskedSelect(expected, mask)));
  });

  it('are not recorded where the caller records none', async () => {
    const x = toDevice(ones([3]), device).requiresGrad_();
    const y = noGrad(() => maskedSelectAsync(x, x.gt(0)));
    expect((await y).requiresGrad).toBe(false);
    expect((await maskedSelectAsync(x, x.gt(0))).requiresGrad).toBe(true);
  });
});

describe.each(DEVICES)('writing under masks on %s', (device) => {
  const on = (x: Tensor): Tensor => toDevice(x, device);
  const writes: [string, (on: (x: Tensor) => Tensor) => Tensor][] = [
    ['a number', (on) => on(mixed(9)).indexPut_([on(bools(9))], 7)],
    ['a copy with a number', (on) => on(mixed(9)).indexPut([on(bools(9))], 7)],
    ['a number to rows', (on) => on(mixed(9, 2)).indexPut_([on(bools(9))], 7)],
    ['a number to columns', (on) => on(mixed(2, 9)).indexPut_([':', on(bools(9))], 7)],
    [
      'a number to a view',
      (on) =>
        on(mixed(9, 4))
          .t()
          .indexPut_([1, on(bools(9))], 7),
    ],
    ['what is added', (on) => on(mixed(9)).indexPut_([on(bools(9))], 7, { accumulate: true })],
    ['a row to rows', (on) => on(mixed(9, 2)).indexPut_([on(bools(9))], on(tensor([5, 6])))],
    ['a mask on the CPU', (on) => on(mixed(3)).indexPut_([tensor([true, false, true])], 7)],
    ['a mask of bytes', (on) => on(mixed(9)).indexPut_([on(bools(9).to('uint8'))], 7)],
    [
      'values in a row',
      (on) =>
        on(mixed(4)).indexPut_([on(tensor([true, false, true, true]))], on(tensor([5, 6, 7]))),
    ],
    [
      'values added',
      (on) =>
        on(mixed(4)).indexPut_([on(tensor([true, false, true, true]))], on(tensor([5, 6, 7])), {
          accumulate: true,
        }),
    ],
    [
      'values of rows',
      (on) => on(mixed(3, 2)).indexPut([on(tensor([true, false, true]))], on(mixed(2, 2))),
    ],
    [
      'a value of each row',
      (on) => on(mixed(3, 2)).indexPut([on(tensor([true, false, true]))], on(mixed(2, 1))),
    ],
    [
      'values of columns',
      (on) => on(mixed(2, 3)).indexPut([':', on(tensor([true, false, true]))], on(mixed(2, 2))),
    ],
    [
      'values in the middle',
      (on) =>
        on(mixed(2, 2, 2, 2)).indexPut(
          [
            ':',
            on(
              tensor([
                [true, false],
                [true, true],
              ]),
            ),
          ],
          on(mixed(3, 2)),
        ),
    ],
    [
      "ATen's form",
      (on) => on(mixed(4)).indexPut([on(tensor([true, false, true, true]))], on(mixed(3))),
    ],
    [
      'nothing where nothing holds',
      (on) => on(mixed(4)).indexPut([on(zeros([4]).to('bool'))], on(zeros([0]))),
    ],
    ['maskedFill', (on) => on(mixed(9)).maskedFill(on(bools(9)), 3)],
    ['maskedScatter', (on) => on(mixed(9)).maskedScatter(on(bools(9)), on(mixed(9)))],
  ];
  it.each(writes)('%s, without a read', async (_, fn) => {
    manualSeed(5);
    const expected = await said(fn((x) => x));
    manualSeed(5);
    let written: Tensor | null = null;
    const run = async (): Promise<void> => {
      written = fn(on);
    };
    if (device === 'cpu') await run();
    else expect(await reads(run)).toEqual({ reads: 0, bytes: 0 });
    expect(await said(written!)).toEqual(expected);
  });

  it('gives gradients to both', async () => {
    const way = async (where: (x: Tensor) => Tensor): Promise<unknown> => {
      const x = where(tensor([1, 2, 3, 4])).requiresGrad_();
      const v = where(tensor([5, 6])).requiresGrad_();
      const y = x.indexPut([where(tensor([true, false, false, true]))], v);
      const w = where(tensor([1, 10, 100, 1000]));
      return said(grad([y.mul(w).sum()], [x, v]) as Tensor[]);
    };
    expect(await way(on)).toEqual(await way((x) => x));
  });

  it('refuses masks of other sizes and values of other types', () => {
    const x = on(mixed(4, 2));
    const code = (name: string): unknown => expect.objectContaining({ code: name });
    expect(() => x.indexPut_([on(bools(3))], 1)).toThrow(code('shape-mismatch'));
    expect(() => x.indexPut_([on(bools(4))], on(long(1)))).toThrow(code('dtype-mismatch'));
  });
});

describe('masks on the CPU', () => {
  it('have the sizes of what they select from', async () => {
    const x = mixed(5, 2);
    const refused = { code: 'shape-mismatch' };
    expect(() => x.index(bools(3))).toThrow(expect.objectContaining(refused));
    await expect(indexAsync(x, bools(3))).rejects.toMatchObject(refused);
  });
  it('compile without a break where one value is written', () => {
    const fn = compile((x: Tensor, m: Tensor) => x.mul(2).indexPut_([m], 5).add(1), {
      fullgraph: true,
    });
    expect(fn(tensor([1, 2, 3]), tensor([true, false, true])).toArray()).toEqual([6, 5, 6]);
  });
});

describe.each(DEVICES)('compiled on %s', (device) => {
  const fns: [string, (x: Tensor) => Promise<Tensor>][] = [
    ['nonzero', (x) => nonzeroAsync(x.mul(2).gt(1)).then((at) => at.add(1))],
    ['maskedSelect', async (x) => (await maskedSelectAsync(x.mul(2), x.gt(0))).add(1)],
    ['index', async (x) => (await indexAsync(x.mul(2), x.gt(0))).add(1)],
    ['unique', async (x) => (await uniqueAsync(x.round())).mul(2)],
  ];
  it.each(fns)('%s is a graph break, whatever is found', async (_, fn) => {
    const compiled = compile(fn);
    for (let i = 0; i < 5; i++) {
      const x = toDevice(randn([40]), device);
      expect(await said(await compiled(x))).toEqual(await said(await fn(x)));
    }
    const told = await explain(fn)(toDevice(randn([40]), device));
    expect(told.breakReasons).toHaveLength(1);
  });

  it('with a backward inside', async () => {
    const step = async (x: Tensor): Promise<Tensor> => {
      const loss = (await maskedSelectAsync(x.mul(2), x.gt(0))).square().sum();
      loss.backward();
      return loss;
    };
    const compiled = compile(step);
    for (let i = 0; i < 3; i++) {
      const x = randn([40]);
      const [plain, own] = [x.clone().requiresGrad_(), toDevice(x, device).requiresGrad_()];
      await compiled(own);
      await step(plain);
      await assertCloseAsync(own.grad!, plain.grad!);
    }
  });
});

describe.skipIf(!wantsGpu)('on WebGPU', () => {
  const gpu = (x: Tensor): Tensor => toDevice(x, 'wgpu');

  it(`few kernels, whose number grows with the logarithm of the size (${sampleName})`, async () => {
    const calls: [string, (x: Tensor) => Promise<unknown>, small: number, large: number][] = [
      ['nonzero', (x) => nonzeroAsync(x), 9, 11],
      ['maskedSelect', (x) => maskedSelectAsync(x, x.ne(1)), 10, 12],
      ['uniqueConsecutive', (x) => uniqueConsecutiveAsync(x), 13, 15],
      ['unique', (x) => uniqueAsync(x), 17, 28],
      ['unique with all', (x) => uniqueAsync(x, all), 24, 44],
    ];
    const [small, large] = [gpu(mixed(1000)), gpu(mixed(30_000))];
    for (const [name, fn, few, more] of sampled(calls, 3)) {
      expect(await launches(() => fn(small)), name).toBeLessThanOrEqual(few);
      expect(await launches(() => fn(large)), name).toBeLessThanOrEqual(more);
    }
  });

  // 17 million elements, which SwiftShader takes 15 seconds for.
  it.runIf(fullTests)(
    'more elements than workgroups can be counted in one dimension',
    async () => {
      const size = 65535 * 256 + 1000;
      const x = zeros([size], { dtype: 'bool', device: 'wgpu' });
      for (const at of [7, 65536 * 200, size - 1]) x.select(0, at).fill_(1);
      expect(await said(await nonzeroAsync(x))).toEqual([
        [[3, 1], 'int64', [[7], [65536 * 200], [size - 1]]],
      ]);
      x.dispose();
    },
    120_000,
  );

  it('inputs of tidy scopes that are left before the answer comes', async () => {
    const x = gpu(mixed(50));
    const results = tidy(() => ({
      places: nonzeroAsync(x),
      values: uniqueAsync(x, all),
      slices: maskedSelectAsync(x, tensor(true)),
      counts: bincountAsync(gpu(long(1, 1, 3))),
      repeated: repeatInterleaveAsync(x, 2),
    }));
    const cpu = await download(x);
    expect(await said(await results.places)).toEqual(await said(nonzero(cpu)));
    expect(await said(await results.values)).toEqual(await said(unique(cpu, all)));
    expect(await said(await results.slices)).toEqual(await said(cpu));
    expect(await said(await results.counts)).toEqual(await said(long(0, 2, 0, 1)));
    expect((await results.repeated).numel).toBe(100);
  });

  it(`one read of one or two numbers, whatever the size (${sampleName})`, async () => {
    const x = gpu(mixed(70, 50));
    const ids = gpu(randint(0, 30, [3000]));
    const fns: [() => Promise<unknown>, number][] = [
      [() => nonzeroAsync(x), 4],
      [() => nonzeroNumpyAsync(x), 4],
      [() => maskedSelectAsync(x, x.gt(0)), 4],
      [() => indexAsync(x, x.select(1, 0).gt(0)), 4],
      [() => uniqueAsync(x, all), 4],
      [() => uniqueAsync(x, { ...all, dim: 0 }), 4],
      [() => uniqueConsecutiveAsync(x, all), 4],
      [() => bincountAsync(ids), 8],
      [() => repeatInterleaveAsync(ids, ids), 8],
    ];
    for (const [fn, bytes] of sampled(fns, 3)) expect(await reads(fn)).toEqual({ reads: 1, bytes });
    const outputSize = Number(await ids.sum().item());
    const known = (): Promise<Tensor> => repeatInterleaveAsync(ids, ids, 0, { outputSize });
    expect(await reads(known)).toEqual({ reads: 0, bytes: 0 });
    expect((await known()).numel).toBe(outputSize);
  });

  it('what the CPU refuses, when it is known', async () => {
    const refused: [() => Promise<unknown>, string][] = [
      [() => uniqueAsync(gpu(ones([3])), { dim: 2 }), 'invalid-dim'],
      [() => uniqueAsync(gpu(zeros([3, 0])), { dim: 0 }), 'shape-mismatch'],
      [() => uniqueConsecutiveAsync(gpu(tensor(5)), { dim: 0 }), 'shape-mismatch'],
      [() => bincountAsync(gpu(long(1, -1))), 'invalid-argument'],
      [() => bincountAsync(gpu(ones([3]))), 'dtype-unsupported'],
      [() => repeatInterleaveAsync(gpu(ones([2])), gpu(long(1, -1))), 'invalid-argument'],
      [() => repeatInterleaveAsync(gpu(ones([2])), gpu(ones([2]))), 'invalid-argument'],
      [() => maskedSelectAsync(gpu(ones([3])), gpu(bools(2))), 'shape-mismatch'],
      [() => indexAsync(gpu(ones([3])), gpu(bools(2))), 'shape-mismatch'],
    ];
    for (const [fn, code] of refused) await expect(fn()).rejects.toMatchObject({ code });
    const few = gpu(zeros([4])).indexPut_([gpu(ones([4]).gt(0))], gpu(ones([2])));
    await expect(read(few)).rejects.toMatchObject({ code: 'index-out-of-range' });
  });

  it('each NaN is a group of its own among rows', async () => {
    const rows = gpu(
      tensor([
        [NaN, 1],
        [2, 1],
        [NaN, 1],
        [2, 1],
      ]),
    );
    const [values, counts] = await uniqueAsync(rows, { dim: 0, returnCounts: true });
    expect(await read(values)).toEqual([
      [2, 1],
      [NaN, 1],
      [NaN, 1],
    ]);
    expect(await read(counts)).toEqual([2, 1, 1]);
  });

  const refusals: [string, (x: Tensor) => unknown, string][] = [
    ['nonzero', (x) => nonzero(x), 'nonzeroAsync'],
    ['argwhere', (x) => x.argwhere(), 'nonzeroAsync'],
    ['nonzeroNumpy', (x) => x.nonzeroNumpy(), 'nonzeroAsync'],
    ['index', (x) => x.index(x.gt(0)), 'indexAsync'],
    ['maskedSelect', (x) => x.maskedSelect(x.gt(0)), 'maskedSelectAsync'],
    ['unique', (x) => unique(x), 'uniqueAsync'],
    ['unique with dim', (x) => unique(x, { dim: 0 }), 'uniqueAsync'],
    ['uniqueConsecutive', (x) => x.uniqueConsecutive(), 'uniqueConsecutiveAsync'],
    ['bincount', (x) => bincount(x.to('int64')), 'bincountAsync'],
    ['repeatInterleave', (x) => x.repeatInterleave(x.to('int64')), 'repeatInterleaveAsync'],
    ['compiled nonzero', (x) => compile((y: Tensor) => nonzero(y.mul(2)))(x), 'nonzeroAsync'],
  ];
  it.each(refusals)('%s at once is refused and names what to await', (_, fn, awaited) => {
    expect(() => fn(gpu(tensor([1, 0, 2])))).toThrow(
      expect.objectContaining({
        code: 'data-async-only',
        hints: [expect.stringContaining(`await ${awaited}`) as unknown],
      }),
    );
  });
});
