/**
 * @file Membership: isin, which is no method of `Tensor`, as in PyTorch.
 */
import { type OptionNames, type ScalarLike, checkOptionNames } from '@tessera/shared';
import { callOp } from '../../dispatch/dispatcher.js';
import { readElements, roundTo, roundingTo, writeNumbers } from '../../kernels/elements.js';
import { operandsOf, scalarValue } from '../../kernels/pointwise-kernel.js';
import { defineOp } from '../../op/op-overload.js';
import type { OpRecord } from '../../op/op-record.js';
import { contiguousStrides } from '../../shape.js';
import { isTensor } from '../../tensor-factory.js';
import type { Tensor } from '../../tensor.js';
import { resultType } from '../../type-promotion.js';

/** Values of a tensor or number in the type that both are compared in. */
function comparable(args: IsinArgs, name: Operands): ArrayLike<number> {
  const dtype = resultType(operandsOf(args, ELEMENTS));
  const operand = args[name]!;
  return isTensor(operand)
    ? readElements(operand).map(roundingTo(dtype))
    : [roundTo(dtype, scalarValue(operand))];
}

const ELEMENTS = ['elements', 'test_elements', 'element', 'test_element'] as const;

/** What operators call the elements, and what these are looked for among. */
type Operands = (typeof ELEMENTS)[number];

type IsinArgs = { readonly [Name in Operands]?: Tensor | ScalarLike } & {
  readonly invert: boolean;
};

function membership(
  elements: Operands,
  tests: Operands,
): OpRecord<IsinArgs, never, Record<never, never>> {
  return {
    tags: ['non-differentiable'],
    meta: (args) => {
      const sizes = isTensor(args[elements]) ? args[elements].sizes : [];
      const { device } = [args[elements], args[tests]].find(isTensor)!;
      return { sizes, strides: contiguousStrides(sizes), dtype: 'bool', device };
    },
    kernel: (args, [out]) => {
      const wanted = new Set(Array.from(comparable(args, tests)));
      const found = Array.from(comparable(args, elements), (x) =>
        // A set holds NaN to equal itself.
        (wanted.has(x) && !Number.isNaN(x)) !== args.invert ? 1 : 0,
      );
      writeNumbers(out!, found);
    },
  };
}

const isinOp = defineOp(
  'aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor',
  membership('elements', 'test_elements'),
);
const isinScalarOp = defineOp(
  'aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor',
  membership('elements', 'test_element'),
);
const isinElementOp = defineOp(
  'aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor',
  membership('element', 'test_elements'),
);

/** Options of `isin`. */
export interface IsinOptions {
  /** A promise that neither holds an element twice. */
  readonly assumeUnique?: boolean;
  /** Tests for absence instead. */
  readonly invert?: boolean;
}
const ISIN: OptionNames<IsinOptions> = { assumeUnique: true, invert: true };

/** Whether a number, or which elements, are among the test elements. @throws invalid-argument */
export function isin(
  elements: Tensor | ScalarLike,
  testElements: Tensor,
  options?: IsinOptions,
): Tensor;
/** Which elements are among the test elements; either may be a number, but not both. @throws invalid-argument */
export function isin(
  elements: Tensor,
  testElements: Tensor | ScalarLike,
  options?: IsinOptions,
): Tensor;
export function isin(
  elements: Tensor | ScalarLike,
  testElements: Tensor | ScalarLike,
  options: IsinOptions = {},
): Tensor {
  checkOptionNames('isin', options, ISIN);
  const op = !isTensor(elements) ? isinElementOp : isTensor(testElements) ? isinOp : isinScalarOp;
  const { assumeUnique = false, invert = false } = options;
  return callOp(op, [elements, testElements, assumeUnique, invert]);
}
