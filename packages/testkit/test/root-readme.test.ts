/**
 * @file The code in the repository's README runs, and prints what it says.
 */
import { testReadme } from '../../../tooling/readme.js';

testReadme(new URL('../../../README.md', import.meta.url), {
  from: new URL('../', import.meta.url),
});
