/**
 * @file The models that PyTorch's results are recorded of.
 */
import { bert } from './bert.js';
import { convBnEval, convBnTrain } from './conv-bn.js';
import { convnext } from './convnext.js';
import { digitsCnn, digitsMlp } from './digits.js';
import { efficientnet } from './efficientnet.js';
import { gpt2 } from './gpt2.js';
import { llama } from './llama.js';
import { lstm } from './lstm.js';
import { nll2d } from './nll2d.js';
import { patchDepthwise } from './patch-depthwise.js';
import type { RecordedModel } from './recorded-model.js';
import { resnet } from './resnet.js';
import { vit } from './vit.js';

/** All of them, small ones first. */
export const recordedModels: readonly RecordedModel[] = [
  digitsMlp,
  digitsCnn,
  nll2d,
  convBnEval,
  convBnTrain,
  patchDepthwise,
  lstm,
  gpt2,
  llama,
  bert,
  vit,
  resnet,
  efficientnet,
  convnext,
];
