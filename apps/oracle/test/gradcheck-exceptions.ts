/**
 * @file Where an operator's gradient is not the derivative of its result, or has none, and why. PyTorch's own
 * `gradcheck` has to leave out the same.
 */

/** What is left out. */
export interface GradcheckException {
  readonly reason: string;
  /** Calls with these arguments only. */
  readonly when?: (args: Readonly<Record<string, unknown>>) => boolean;
  /** Gradients of gradients only. */
  readonly secondOrderOnly?: true;
}

const countsRows = (args: Readonly<Record<string, unknown>>): boolean =>
  args.scale_grad_by_freq === true ||
  (typeof args.padding_idx === 'number' && args.padding_idx >= 0);

const ROWS: GradcheckException = {
  reason: 'asked to divide by how often a row occurs, or to withhold the gradient of one row',
  when: countsRows,
};
const NO_SECOND: GradcheckException = {
  reason: 'the backward operator has no derivative, in PyTorch neither',
  secondOrderOnly: true,
};

const STATISTICS: GradcheckException = {
  reason:
    'its derivative follows the statistics back to the input, arguments of their own here; test/norm-backward.test.ts of the tensor package checks it with both',
};

const ONE_TRIANGLE: GradcheckException = {
  reason:
    'reads one triangle and gives the gradient of a symmetric matrix; test/linalg-derivatives.test.ts of the tensor package checks it through symmetric ones',
};

/** By display name. */
export const GRADCHECK_EXCEPTIONS: Readonly<Record<string, readonly GradcheckException[]>> = {
  'aten.embedding.default': [ROWS],
  'aten.embedding_dense_backward.default': [ROWS],
  'aten._embedding_bag.default': [ROWS, NO_SECOND],
  'aten.embedding_bag.padding_idx': [ROWS, NO_SECOND],
  'aten.grid_sampler.default': [NO_SECOND],
  'aten.grid_sampler_2d.default': [NO_SECOND],
  'aten.grid_sampler_3d.default': [NO_SECOND],
  'aten.linalg_cholesky_ex.default': [ONE_TRIANGLE],
  'aten._linalg_eigh.default': [ONE_TRIANGLE],
  'aten._standard_gamma.default': [
    {
      reason:
        'its derivative moves samples along the distribution, not along the draws that made them; test/random-distributions.test.ts of the tensor package checks it',
    },
  ],
  'aten.linalg_norm.default': [
    {
      reason: 'a negative power of an element that is 0: NaN in PyTorch too',
      when: ({ ord }) => typeof ord === 'number' && ord < 0,
      secondOrderOnly: true,
    },
  ],
  'aten.native_layer_norm_backward.default': [STATISTICS],
  'aten.native_batch_norm_backward.default': [STATISTICS],
  'aten.native_group_norm_backward.default': [STATISTICS],
  'aten.log_sigmoid_backward.default': [
    { reason: 'the buffer is a function of self, but an argument of its own' },
  ],
};
