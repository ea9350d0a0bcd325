/**
 * @file Public API of @tessera/transformers: language models from Hugging Face folders.
 */
export type {
  ActivationName,
  AttentionConfig,
  DecoderConfig,
  FeedForwardConfig,
  Positions,
  RotaryScaling,
} from './config/decoder-config.js';
export { type Family, readConfig, registerFamily } from './config/families.js';
export { JsonConfig } from './config/json-config.js';
export { llamaLike } from './config/llama-like.js';
export { CausalLM, type ForwardOptions } from './model/causal-lm.js';
export {
  type CacheOptions,
  GrowingCache,
  type KeyValueCache,
  type LayerCache,
  StaticCache,
} from './cache/kv-cache.js';
export { type WeightRule, joined, renamed, stacked, transposed } from './weights/weight-rules.js';
export {
  type GgufSource,
  type LoadCausalLMOptions,
  loadCausalLM,
  makeCausalLM,
} from './load/load-causal-lm.js';
export { readGgufMetadata } from './gguf/gguf-metadata.js';
export type { GgufMetadata, GgufValue } from './gguf/gguf-metadata.js';
export { type SaveCausalLMOptions, saveCausalLM } from './load/save-causal-lm.js';
export type { FolderOptions } from './load/model-folder.js';
export type { FileSink } from './load/model-sink.js';
export type { GenerationConfig } from './config/generation-config.js';
export type { GenerateOptions, SamplingOptions } from './generate/options.js';
export type { TokenRuleOptions } from './generate/token-rules.js';
export type { Prompts } from './generate/prompts.js';
export {
  SpeculativeGenerator,
  type SpeculativeGeneratorOptions,
} from './generate/speculative-generator.js';
export type { EarlyStopping } from './generate/beam-hypotheses.js';
export {
  type BeamGenerateOptions,
  BeamSearch,
  type BeamSearchOptions,
} from './generate/beam-search.js';
export { TextGenerator, type TextGeneratorOptions } from './generate/text-generator.js';
export type { QuantizeFormat } from './quantize/pack-weight.js';
export {
  type QuantizeOptions,
  type QuantizeReport,
  type QuantizedLayer,
  makeQuantized,
  quantize,
} from './quantize/quantize.js';
export { QuantizedEmbedding } from './quantize/quantized-embedding.js';
export { QuantizedLinear } from './quantize/quantized-linear.js';
export { LoraLinear } from './lora/lora-linear.js';
export { type LoraOptions, addLora, mergeLora, removeLora, unmergeLora } from './lora/lora.js';
export { loadLora, loraState, saveLora } from './lora/lora-files.js';
