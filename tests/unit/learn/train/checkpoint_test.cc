#include "train/checkpoint.h"

#include <ATen/ops/zeros.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "temp_folder.h"
#include "train/footprint.h"
#include "train/inference.h"
#include "train/python.h"
#include "train/small_graph.h"

namespace plimsoll::train {
namespace {

namespace fs = std::filesystem;
using recipe::ModelKind;

const c10::Device kCpu(c10::DeviceType::CPU);

recipe::Recipe recipe_of(ModelKind kind, bool batch_norm, uint64_t hidden = 6) {
  recipe::Recipe recipe;
  recipe.model = kind;
  recipe.fanout = {recipe::kAllNeighbors, 4, 3};
  recipe.hidden = hidden;
  recipe.heads = 2;
  recipe.dropout = 0.25;
  recipe.batch_norm = batch_norm;
  recipe.lr = 0.003;
  recipe.weight_decay = 0.01;
  recipe.seed = 99;
  return recipe;
}

nn::ModelShape shape_of(const recipe::Recipe& recipe) {
  return {.kind = recipe.model,
          .inputs = 7,
          .hidden = static_cast<int64_t>(recipe.hidden),
          .classes = 5,
          .layers = static_cast<int64_t>(recipe.fanout.size()),
          .heads = recipe.model == ModelKind::gat ? 2 : 1,
          .dropout = recipe.dropout,
          .batch_norm = recipe.batch_norm};
}

Position some_position() {
  return {.epoch = 2,
          .batch = 17,
          .loss_sum = 0.1 + 0.2,
          .seeds = 17 * 1024,
          .epoch_seconds = 1.5,
          .total_seconds = 100.25,
          .lr_scale = 0.5,
          .worse_in_a_row = 3,
          .plateau = 1,
          .best_epoch = 1,
          .best_valid = 1.0 / 3,
          .best_test = std::nullopt,
          .best_loss = 1e-300,
          .series = {{1, 1.25, 1.0 / 3, 0.25, 60, 0.01}, {2, 0.7, std::nullopt, {}, 40, 0.003}}};
}

void expect_same(const EpochResult& a, const EpochResult& b) {
  EXPECT_EQ(std::tie(a.epoch, a.loss, a.valid_accuracy, a.test_accuracy, a.seconds, a.lr),
            std::tie(b.epoch, b.loss, b.valid_accuracy, b.test_accuracy, b.seconds, b.lr));
}

void expect_same(const Position& a, const Position& b) {
  EXPECT_EQ(std::tie(a.epoch, a.batch, a.loss_sum, a.seeds, a.epoch_seconds, a.total_seconds),
            std::tie(b.epoch, b.batch, b.loss_sum, b.seeds, b.epoch_seconds, b.total_seconds));
  EXPECT_EQ(std::tie(a.lr_scale, a.worse_in_a_row, a.plateau, a.best_epoch, a.best_valid,
                     a.best_test, a.best_loss),
            std::tie(b.lr_scale, b.worse_in_a_row, b.plateau, b.best_epoch, b.best_valid,
                     b.best_test, b.best_loss));
  ASSERT_EQ(a.series.size(), b.series.size());
  for (size_t i = 0; i < a.series.size(); ++i) expect_same(a.series[i], b.series[i]);
}

void expect_same(const nn::Model& a, const nn::Model& b) {
  const auto state_a = a.state(), state_b = b.state();
  ASSERT_EQ(state_a.size(), state_b.size());
  for (size_t i = 0; i < state_a.size(); ++i) {
    EXPECT_EQ(state_a[i].name, state_b[i].name);
    EXPECT_TRUE(state_a[i].tensor.equal(state_b[i].tensor)) << state_a[i].name;
  }
}

// A model and its optimizer somewhere on their way.
struct Trained {
  explicit Trained(const recipe::Recipe& of)
      : recipe(of), model(shape_of(of), 1, kCpu), adam(model.values()) {
    nn::shake(model);
    std::mt19937 random(31);
    adam.mean.copy_(nn::random_normal({model.parameter_count()}, random));
    adam.square.copy_(nn::random_normal({model.parameter_count()}, random).square());
    adam.steps = 41;
  }
  PyDict checkpoint() const {
    return make_checkpoint(model, adam, recipe, {"tiny", "0123456789abcdef"}, position);
  }

  Position position = some_position();
  recipe::Recipe recipe;
  nn::Model model;
  nn::Adam adam;
};

class CheckpointFile : public testing::Test {
 protected:
  // What the error says must name the file.
  void expect_refused(std::vector<std::string> parts) {
    parts.push_back(path_.string());
    expect_error(ErrorKind::input, parts, [&] { read_checkpoint(path_, ledger_); });
  }

  memory::Ledger ledger_{uint64_t{1} << 30};
  TempFolder folder_;
  fs::path path_ = folder_ / "last.pth";
};

class Checkpoints : public CheckpointFile,
                    public testing::WithParamInterface<std::tuple<ModelKind, bool>> {
 protected:
  Trained trained_{recipe_of(std::get<0>(GetParam()), std::get<1>(GetParam()))};
};

TEST_P(Checkpoints, RestoreEverything) {
  write_torch_file(path_, trained_.checkpoint());
  const Checkpoint checkpoint = read_checkpoint(path_, ledger_);
  EXPECT_EQ(checkpoint.recipe, trained_.recipe);
  EXPECT_EQ(checkpoint.shape, trained_.model.shape());
  EXPECT_EQ(checkpoint.store.name, "tiny");
  EXPECT_EQ(checkpoint.store.checksum, "0123456789abcdef");
  expect_same(checkpoint.position, some_position());

  nn::Model model(checkpoint.shape, 2, kCpu);
  nn::Adam adam(model.values());
  load_model(checkpoint, path_, model);
  load_adam(checkpoint, path_, model, adam);
  expect_same(model, trained_.model);
  EXPECT_TRUE(model.values().equal(trained_.model.values()));
  EXPECT_TRUE(adam.mean.equal(trained_.adam.mean));
  EXPECT_TRUE(adam.square.equal(trained_.adam.square));
  EXPECT_EQ(adam.steps, 41);
}

// A copy of a large model would not fit where the model does.
TEST_P(Checkpoints, AreWrittenFromTheLiveTensors) {
  const PyDict dict = trained_.checkpoint();
  for (const nn::NamedTensor& entry : trained_.model.state()) {
    const auto& tensor = dict.get<PyDict>("model_state_dict").get<at::Tensor>(entry.name);
    EXPECT_EQ(tensor.data_ptr(), entry.tensor.data_ptr()) << entry.name;
  }
  const PyDict& state = dict.get<PyDict>("optimizer_state_dict").get<PyDict>("state");
  EXPECT_EQ(state.get<PyDict>(int64_t{0}).get<at::Tensor>("exp_avg").data_ptr(),
            trained_.adam.mean.data_ptr());
}

TEST_P(Checkpoints, AreRefusedByAModelOfAnotherShape) {
  write_torch_file(path_, trained_.checkpoint());
  const Checkpoint checkpoint = read_checkpoint(path_, ledger_);
  Trained other(recipe_of(trained_.recipe.model, trained_.recipe.batch_norm, /*hidden=*/8));
  const nn::NamedTensor& first = trained_.model.parameters()[0];
  const std::string both =
      fmt::format(" has shape [{}], [{}] expected", fmt::join(first.tensor.sizes(), ", "),
                  fmt::join(other.model.parameters()[0].tensor.sizes(), ", "));
  expect_error(ErrorKind::input, {path_.string(), first.name + both},
               [&] { load_model(checkpoint, path_, other.model); });
  expect_error(ErrorKind::input, {path_.string(), "exp_avg" + both},
               [&] { load_adam(checkpoint, path_, other.model, other.adam); });
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, Checkpoints,
                         testing::Combine(testing::Values(ModelKind::gcn, ModelKind::sage,
                                                          ModelKind::gat, ModelKind::mlp),
                                          testing::Bool()),
                         [](const auto& test) {
                           return std::string(recipe::name(std::get<0>(test.param))) +
                                  (std::get<1>(test.param) ? "BatchNorm" : "");
                         });

const std::string kModels = R"(
import torch
from torch import nn
class GCNConv(nn.Module):
    def __init__(self, i, o, heads):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=False)
        self.bias = nn.Parameter(torch.zeros(o))
    def forward(self, x, a):
        return a @ self.lin(x) + self.bias
class SAGEConv(nn.Module):
    def __init__(self, i, o, heads):
        super().__init__()
        self.lin_l = nn.Linear(i, o)
        self.lin_r = nn.Linear(i, o, bias=False)
class GATConv(nn.Module):
    def __init__(self, i, o, heads):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=False)
        self.att_src = nn.Parameter(torch.zeros(1, heads, o // heads))
        self.att_dst = nn.Parameter(torch.zeros(1, heads, o // heads))
        self.bias = nn.Parameter(torch.zeros(o))
kinds = {'gcn': GCNConv, 'sage': SAGEConv, 'gat': GATConv,
         'mlp': lambda i, o, heads: nn.Linear(i, o)}
class Net(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.count = c['num_layers']
        widths = [c['input_dim']] + [c['hidden_dim']] * (self.count - 1) + [c['output_dim']]
        self.kind = 'lin' if c['model'] == 'mlp' else 'conv'
        for k in range(1, self.count + 1):
            last = k == self.count
            layer = kinds[c['model']](widths[k - 1], widths[k], 1 if last else c['heads'])
            setattr(self, f'{self.kind}{k}', layer)
            if c['batch_norm'] and not last: setattr(self, f'bn{k}', nn.BatchNorm1d(widths[k]))
    def forward(self, x, a):
        for k in range(1, self.count + 1):
            x = getattr(self, f'{self.kind}{k}')(x, a)
            if k == self.count: return x
            if hasattr(self, f'bn{k}'): x = getattr(self, f'bn{k}')(x)
            x = x.relu()
def load(path):
    c = torch.load(path)
    net = Net(c)
    net.load_state_dict(c['model_state_dict'], strict=True)
    return c, net
)";

constexpr int kSteps = 20;

// Gradients for some steps of Adam, under the parameters' names.
PyDict by_name(const nn::Model& model, const at::Tensor& gradients) {
  PyDict dict;
  int64_t begin = 0;
  for (const nn::NamedTensor& parameter : model.parameters()) {
    std::vector<int64_t> sizes = parameter.tensor.sizes().vec();
    sizes.insert(sizes.begin(), kSteps);
    dict[parameter.name] = gradients.narrow(1, begin, parameter.tensor.numel()).reshape(sizes);
    begin += parameter.tensor.numel();
  }
  return dict;
}

// Models with PyG's names load it, and torch.optim.Adam goes on from it as ours does.
TEST_F(CheckpointFile, IsThatOfPythonModelsAndTheirOptimizer) {
  if (python_with_torch().empty()) GTEST_SKIP() << "no python3 that can import torch";
  struct Run {
    std::string name;
    std::unique_ptr<Trained> trained;
    at::Tensor gradients;
  };
  std::vector<Run> runs;
  std::mt19937 random(37);
  for (const ModelKind kind : {ModelKind::mlp, ModelKind::sage, ModelKind::gat, ModelKind::gcn}) {
    for (const bool batch_norm : {false, true}) {
      Run run{fmt::format("{}{}", recipe::name(kind), batch_norm ? "_norm" : ""),
              std::make_unique<Trained>(recipe_of(kind, batch_norm))};
      const nn::Model& model = run.trained->model;
      run.gradients = nn::random_normal({kSteps, model.parameter_count()}, random);
      fs::create_directory(folder_ / run.name);
      write_torch_file(folder_ / run.name / "last.pth", run.trained->checkpoint());
      write_torch_file(folder_ / run.name / "gradients.pth", by_name(model, run.gradients));
      runs.push_back(std::move(run));
    }
  }
  expect_python(folder_.path(), kModels + R"(
import glob, os
for folder in map(os.path.dirname, glob.glob('*/last.pth')):
    c, net = load(f'{folder}/last.pth')
    for key in ('epoch', 'model_state_dict', 'optimizer_state_dict', 'train_loss', 'hidden_dim',
                'dropout', 'input_dim', 'output_dim'):
        assert key in c, (folder, key)
    assert (c['epoch'], c['train_loss'], c['dropout']) == (2, 0.7, 0.25)
    assert (c['input_dim'], c['hidden_dim'], c['output_dim']) == (7, 6, 5)
    assert c['num_neighbors'] == [-1, 4, 3]
    torch.save(net.state_dict(), f'{folder}/back.pth')
    optimizer = torch.optim.Adam(net.parameters(), lr=1)
    optimizer.load_state_dict(c['optimizer_state_dict'])
    gradients = torch.load(f'{folder}/gradients.pth')
    for name, parameter in net.named_parameters():
        assert optimizer.state[parameter]['exp_avg'].shape == parameter.shape, (folder, name)
    for step in range(20):
        for name, parameter in net.named_parameters(): parameter.grad = gradients[name][step]
        optimizer.step()
    torch.save({name: p.detach() for name, p in net.named_parameters()}, f'{folder}/on.pth')
)");
  if (HasFailure()) return;
  for (const Run& run : runs) {
    SCOPED_TRACE(run.name);
    nn::Model& model = run.trained->model;
    const PyDict back = read_torch_file(folder_ / run.name / "back.pth", ledger_);
    for (const nn::NamedTensor& entry : model.state())
      EXPECT_TRUE(back.get<at::Tensor>(entry.name).equal(entry.tensor)) << entry.name;
    const recipe::Recipe& recipe = run.trained->recipe;
    for (int step = 0; step < kSteps; ++step) {
      at::Tensor gradient = run.gradients[step].clone();
      run.trained->adam.step(model.values(), gradient, recipe.lr, recipe.weight_decay);
    }
    const PyDict python = read_torch_file(folder_ / run.name / "on.pth", ledger_);
    for (const nn::NamedTensor& parameter : model.parameters())
      nn::expect_close(parameter.tensor, python.get<at::Tensor>(parameter.name), parameter.name);
  }
}

TEST_F(CheckpointFile, PredictsInPythonAsHere) {
  if (python_with_torch().empty()) GTEST_SKIP() << "no python3 that can import torch";
  SmallGraph graph;
  Trained trained(recipe_of(ModelKind::gcn, /*batch_norm=*/true));
  write_torch_file(path_, trained.checkpoint());
  const Place place = {graph.topology(), {}, kCpu, graph.ledger()};
  BatchFeed source(place, graph.rows(), batches_of(trained.recipe));
  Inference inference(trained.model, place, graph.rows(), source,
                      {.evaluation = recipe::Evaluation::full});
  const at::Tensor logits = at::zeros({60, 5});
  TrainReport report(/*bars=*/false);
  const std::vector<NodeQuery> queries = {{batch::Seeds::all(60), {}}};
  inference.answer(queries, report, [&](const Answer& answer) {
    const at::Tensor& rows = answer.outputs.logits;
    logits.narrow(0, static_cast<int64_t>(answer.first), rows.size(0)).copy_(rows);
  });
  const at::Tensor edges = nn::edge_counts(graph.block(ModelKind::gcn)).to(at::kFloat);
  write_torch_file(folder_ / "graph.pth",
                   PyDict{{"edges", edges}, {"x", graph.x()}, {"logits", logits}});
  expect_python(folder_.path(), kModels + R"(
c, net = load('last.pth')
graph = torch.load('graph.pth')
a = graph['edges'] + torch.eye(60)
root = a.sum(1).rsqrt()
a = root[:, None] * a * root[None, :]
with torch.no_grad(): logits = net.eval()(graph['x'], a)
error = (logits - graph['logits']).abs().max() / logits.abs().max()
assert error < 1e-5, error
)");
}

TEST_F(CheckpointFile, OfAModelWithoutStepsLeavesAdamAsItIs) {
  Trained trained(recipe_of(ModelKind::sage, false));
  trained.adam.steps = 0;
  write_torch_file(path_, trained.checkpoint());
  nn::Adam adam(trained.model.values());
  load_adam(read_checkpoint(path_, ledger_), path_, trained.model, adam);
  EXPECT_EQ(adam.steps, 0);
  EXPECT_EQ(nn::scale_of(adam.mean), 0);
}

TEST_F(CheckpointFile, IsRefusedByAModelOfAnotherKind) {
  write_torch_file(path_, Trained(recipe_of(ModelKind::gcn, false)).checkpoint());
  const Checkpoint checkpoint = read_checkpoint(path_, ledger_);
  Trained other(recipe_of(ModelKind::sage, false));
  expect_error(ErrorKind::input, {path_.string(), "conv1.lin_l.weight"},
               [&] { load_model(checkpoint, path_, other.model); });
  Trained deeper(recipe_of(ModelKind::gcn, true));
  expect_error(ErrorKind::input, {path_.string(), "bn1"},
               [&] { load_model(checkpoint, path_, deeper.model); });
  expect_error(ErrorKind::input, {path_.string()},
               [&] { load_adam(checkpoint, path_, deeper.model, deeper.adam); });
}

TEST_F(CheckpointFile, IsRefusedByNameWhereItIsSomethingElse) {
  write_file(path_, "epoch,loss\n");
  expect_refused({"not a zip archive"});
  write_torch_file(path_, PyDict{{"epoch", 3}});
  expect_refused({"Plimsoll did not write it"});
  const auto expect_changed = [&](const char* key, const PyValue& value, const std::string& why) {
    Trained trained(recipe_of(ModelKind::gcn, false));
    PyDict dict = trained.checkpoint();  // refers to it
    dict[key] = value;
    write_torch_file(path_, dict);
    expect_refused({why});
  };
  expect_changed("plimsoll_checkpoint", 2, "version 2");
  expect_changed("plimsoll_checkpoint", "1", "str");
  expect_changed("recipe", "{", "recipe");
  expect_changed("recipe", "{\"model\": 5}", "recipe");
  expect_changed("recipe", 7, "'recipe'");
  expect_changed("recipe", std::string(3'000'000, '['), "recipe nests lists and objects 3000000");
  expect_changed("store", PyDict{{"name", "tiny"}}, "'checksum'");
  expect_changed("hidden_dim", "6", "'hidden_dim'");
  expect_changed("batch_norm", 1, "'batch_norm'");
  expect_changed("position", PyList(), "'position'");
  expect_changed("position", PyDict{{"epoch", 1}}, "'batch'");
}

TEST_F(CheckpointFile, SaysWhenItIsMissing) {
  expect_error(ErrorKind::io, {path_.string()}, [&] { read_checkpoint(path_, ledger_); });
}

// What the plan has for it, and not much less.
TEST(CheckpointBytes, CoverReadingIt) {
  const TempFolder folder;
  for (const ModelKind kind : {ModelKind::gat, ModelKind::sage, ModelKind::mlp}) {
    for (const size_t layers : {1, 3, 8}) {
      for (const size_t epochs : {0, 1, 5000}) {
        recipe::Recipe recipe = recipe_of(kind, /*batch_norm=*/true);
        recipe.fanout.assign(layers, 4);
        Trained trained(recipe);
        trained.position.series.assign(epochs, {UINT32_MAX, 1.25, 0.5, 0.25, 60, 0.01});
        write_torch_file(folder / "last.pth", trained.checkpoint());
        memory::Ledger ledger(uint64_t{1} << 30);
        const Checkpoint checkpoint = read_checkpoint(folder / "last.pth", ledger);
        EXPECT_EQ(checkpoint.position.series.size(), epochs);
        const uint64_t planned = checkpoint_bytes(epochs, layers);
        EXPECT_LE(ledger.peak_bytes(), planned) << layers << " layers, " << epochs << " epochs";
        EXPECT_LE(epochs * 1024, ledger.peak_bytes());
        EXPECT_LE(planned, ledger.peak_bytes() * 3 / 2 + layers * kLayerValuesBytes);
      }
    }
  }
}

TEST(ModelShape, IsDescribedInALine) {
  EXPECT_EQ(describe(shape_of(recipe_of(ModelKind::gcn, false))), "gcn 7 -> 6 -> 6 -> 5");
  EXPECT_EQ(describe(shape_of(recipe_of(ModelKind::gat, true))),
            "gat 7 -> 6 -> 6 -> 5, 2 heads, batch norm");
}

}  // namespace
}  // namespace plimsoll::train
