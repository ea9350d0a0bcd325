/**
 * @file The tokenizer and the chat template of a folder on this machine.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type VocabularyFiles, readVocabulary } from './vocabulary.js';

/** The files of a model's folder. @throws model-invalid */
export function folderVocabulary(folder: string): Promise<VocabularyFiles> {
  return readVocabulary(async (name) => {
    try {
      return await readFile(join(folder, name), 'utf8');
    } catch (error) {
      if ((error as { code?: string }).code === 'ENOENT') return null;
      throw error;
    }
  }, folder);
}
