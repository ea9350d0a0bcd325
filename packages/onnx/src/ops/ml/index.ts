/**
 * @file Operators of the domain `ai.onnx.ml`, which models of scikit-learn, XGBoost and LightGBM are exported to.
 *
 * Loaded when a model has nodes of this domain, so that pages with others do not download it.
 */
import { type OnnxGraph, type OnnxModel, type OnnxNode, ML_DOMAIN } from '../../model/model.js';
import { addListOperators, addOperators } from '../../registry.js';
import { featureOperators, featureTables } from './features.js';
import { linearLists, linearModelTables, linearOperators } from './linear.js';
import { NodeReader } from './node-tables.js';
import { svmLists, svmOperators, svmTables } from './svm.js';
import { treeLists, treeOperators, treeTables } from './tree-ensemble.js';

for (const table of [featureOperators, linearOperators, svmOperators, treeOperators])
  addOperators(ML_DOMAIN, table);
for (const table of [linearLists, svmLists, treeLists]) addListOperators(ML_DOMAIN, table);

const tables = { ...featureTables, ...linearModelTables, ...svmTables, ...treeTables };

function nodeWithTables(node: OnnxNode): OnnxNode {
  const made = node.domain === ML_DOMAIN ? tables[node.type] : undefined;
  const own = [...node.attributes].map(
    ([name, attribute]) =>
      [
        name,
        attribute.kind === 'graph'
          ? { ...attribute, value: graphWithTables(attribute.value) }
          : attribute,
      ] as const,
  );
  const more = made === undefined ? {} : made(new NodeReader(node));
  return { ...node, attributes: new Map([...own, ...Object.entries(more)]) };
}

function graphWithTables(graph: OnnxGraph): OnnxGraph {
  return { ...graph, nodes: graph.nodes.map(nodeWithTables) };
}

/** The model, its nodes of this domain with the tables that their operators read. @throws onnx-invalid */
export function withTables(model: OnnxModel): OnnxModel {
  const functions = new Map(
    Array.from(model.functions, ([key, called]) => [
      key,
      { ...called, nodes: called.nodes.map(nodeWithTables) },
    ]),
  );
  return { ...model, graph: graphWithTables(model.graph), functions };
}
