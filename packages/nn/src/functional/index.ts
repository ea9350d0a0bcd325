/**
 * @file The `functional` namespace: layers without state, over tensor's operators.
 */
export {
  type BatchNormOptions, type CrossEntropyOptions, type GeluApproximation, type LayerNormOptions, type NllLossOptions,
  type Reduction, batchNorm, binaryCrossEntropyWithLogits, crossEntropy, elu, gelu, groupNorm, hardswish, l1Loss, layerNorm,
  leakyRelu, linear, logSoftmax, mish, mseLoss, nllLoss, relu, rmsNorm, sigmoid, silu, softmax, softplus, tanh,
} from '@tessera/tensor';
