/**
 * @file The code in the README runs.
 */
import { testReadme } from '../../../tooling/readme.js';

testReadme(new URL('../README.md', import.meta.url));
