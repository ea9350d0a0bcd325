/**
 * @file Every family of operators, registered: importing this file is what makes them known.
 */
import { addListOperators, addOperators, addShapeOperators } from '../registry.js';
import { activations } from './activation.js';
import { attentionLists } from './attention.js';
import { casts } from './cast.js';
import { constants } from './constant.js';
import { contribs } from './contrib.js';
import { contribAttention } from './contrib-attention.js';
import { contribBlockLookup } from './contrib-block-lookup.js';
import { contribBlockwise } from './contrib-blockwise.js';
import { contribDecoderAttention } from './contrib-decoder-attention.js';
import { contribFused } from './contrib-fused.js';
import { contribMixtures } from './contrib-moe.js';
import { contribNormLists, contribNorms } from './contrib-norm.js';
import { contribPackedAttention } from './contrib-packed-attention.js';
import { contribPointwise, contribPointwiseLists } from './contrib-pointwise.js';
import { contribPositionBias } from './contrib-position-bias.js';
import { contribQuantized } from './contrib-quantized.js';
import { contribQuantizedProducts } from './contrib-quantized-products.js';
import { contribQuantizedLstm } from './contrib-quantized-lstm.js';
import { contribShapeLists, contribShapes } from './contrib-shape.js';
import { controlLists } from './control.js';
import { convolutions } from './conv.js';
import { elementwise } from './elementwise.js';
import { hostArithmetic } from './host-arithmetic.js';
import { hostShapes, shapeSources } from './host-shapes.js';
import { indexing, indexingLists } from './indexing.js';
import { linearAttention } from './linear-attention.js';
import { lossLists } from './loss.js';
import { products } from './matmul.js';
import { nGrams } from './n-grams.js';
import { norms, normLists } from './norm.js';
import { poolLists, pools } from './pool.js';
import { quantization, quantizationLists } from './quantize.js';
import { quantizedProducts } from './quantized-products.js';
import { randoms } from './random.js';
import { recurrentLists } from './recurrent.js';
import { reductions } from './reduce.js';
import { regions } from './regions.js';
import { resizing } from './resize.js';
import { rotary } from './rotary.js';
import { sampling } from './sampling.js';
import { sequenceLists, sequences } from './sequence.js';
import { shapeLists, shapes } from './shape.js';
import { signals } from './signal.js';
import { sortingLists } from './sorting.js';
import { detections } from './detection.js';

for (const table of [
  elementwise,
  activations,
  shapes,
  shapeSources,
  casts,
  constants,
  indexing,
  reductions,
  products,
  convolutions,
  pools,
  nGrams,
  norms,
  resizing,
  sampling,
  detections,
  regions,
  quantization,
  quantizedProducts,
  randoms,
  sequences,
  signals,
  rotary,
])
  addOperators('', table);

for (const table of [
  shapeLists,
  indexingLists,
  sortingLists,
  poolLists,
  normLists,
  recurrentLists,
  attentionLists,
  linearAttention,
  quantizationLists,
  lossLists,
  sequenceLists,
  controlLists,
])
  addListOperators('', table);

addShapeOperators(hostShapes);
addShapeOperators(hostArithmetic);

for (const table of [
  contribs,
  contribBlockLookup,
  contribBlockwise,
  contribFused,
  contribMixtures,
  contribNorms,
  contribPointwise,
  contribPositionBias,
  contribQuantized,
  contribQuantizedProducts,
  contribShapes,
])
  addOperators('com.microsoft', table);

for (const table of [
  quantizationLists,
  contribAttention,
  contribDecoderAttention,
  contribNormLists,
  contribPackedAttention,
  contribPointwiseLists,
  contribQuantizedLstm,
  contribShapeLists,
])
  addListOperators('com.microsoft', table);

// Some exporters write the contrib norm in the standard domain.
const { SimplifiedLayerNormalization } = contribNormLists;
addListOperators('', { SimplifiedLayerNormalization: SimplifiedLayerNormalization! });
