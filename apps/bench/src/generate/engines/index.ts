/**
 * @file Peers of language models, in the order of the report.
 */
import type { LanguageEngine } from '../language-engine.js';
import { llamaCpp } from './llama-cpp.js';
import { ortNodeLanguage, ortWebLanguage } from './ort.js';

/** All of them; each loads its package only when it is asked for. */
export const LANGUAGE_PEERS: readonly LanguageEngine[] = [
  ortWebLanguage,
  ortNodeLanguage,
  llamaCpp,
];
