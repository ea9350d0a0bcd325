/**
 * @file All parameters as one vector, and back.
 */
import { TesseraError } from '@tessera/shared';
import { type Tensor, cat, noGrad } from '@tessera/tensor';
import { checkList } from './module/check-child.js';
import { checkTensors } from '@tessera/tensor/internal';

/** The elements of all tensors, one after another, `[total]`. @throws invalid-argument @see torch.nn.utils.parameters_to_vector */
export function parametersToVector(parameters: Iterable<Tensor>): Tensor {
  checkList('parametersToVector', parameters, 'model.parameters()');
  const list = [...parameters];
  for (const parameter of list) checkTensors('parametersToVector', { parameter });
  const other = list.find(({ device }) => device !== list[0]!.device);
  if (list.length === 0 || other !== undefined)
    throw new TesseraError(
      'invalid-argument',
      'parametersToVector: expected at least one tensor, and all on one device.',
      { hints: ['Pass model.parameters().'] },
    );
  return cat(list.map((tensor) => tensor.reshape([-1])));
}

/**
 * Writes the elements of a vector into tensors, in order.
 *
 * @throws shape-mismatch unless there are as many as the tensors hold
 * @see torch.nn.utils.vector_to_parameters
 */
export function vectorToParameters(vector: Tensor, parameters: Iterable<Tensor>): void {
  checkList('vectorToParameters', parameters, 'vector, model.parameters()');
  checkTensors('vectorToParameters', { vector });
  const list = [...parameters];
  const total = list.reduce((sum, { numel }) => sum + numel, 0);
  if (vector.ndim !== 1 || vector.numel !== total)
    throw new TesseraError(
      'shape-mismatch',
      `vectorToParameters: the tensors hold ${total} elements, the vector has shape [${vector.sizes.join(', ')}].`,
      { hints: ['It is what parametersToVector(parameters) has made.'] },
    );
  noGrad(() => {
    let start = 0;
    for (const tensor of list) {
      tensor.copy_(vector.narrow(0, start, tensor.numel).reshape(tensor.sizes));
      start += tensor.numel;
    }
  });
}
