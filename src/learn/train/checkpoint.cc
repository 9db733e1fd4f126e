#include "train/checkpoint.h"

#include <ATen/ops/scalar_tensor.h>
#include <c10/util/Exception.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "base/json.h"
#include "train/footprint.h"

namespace plimsoll::train {
namespace {

constexpr int kCheckpointVersion = 1;
static_assert(sizeof(EpochResult) <= kEpochBytes);

PyValue optional_value(const std::optional<double>& value) {
  return value ? PyValue(*value) : PyValue();
}

std::optional<double> optional_double(const PyDict& dict, const char* key) {
  if (dict.at(key).is_none()) return {};
  return dict.get<double>(key);
}

uint64_t count(const PyDict& dict, const char* key) {
  return static_cast<uint64_t>(dict.get<int64_t>(key));
}

// In the format of torch.optim.Adam.state_dict(), where the keys are the parameters' numbers.
PyDict optimizer_state(const nn::Model& model, const nn::Adam& adam, const recipe::Recipe& recipe) {
  PyDict state;
  PyList numbers;
  int64_t begin = 0;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const at::Tensor& parameter = model.parameters()[i].tensor;
    const auto part = [&](const at::Tensor& flat) {
      return flat.narrow(0, begin, parameter.numel()).view(parameter.sizes());
    };
    const at::Tensor step = at::scalar_tensor(static_cast<double>(adam.steps));
    state[static_cast<int64_t>(i)] =
        PyDict{{"step", step}, {"exp_avg", part(adam.mean)}, {"exp_avg_sq", part(adam.square)}};
    numbers.emplace_back(static_cast<int64_t>(i));
    begin += parameter.numel();
  }
  const PyDict group{
      {"lr", recipe.lr},           {"betas", PyList{nn::Adam::kBeta1, nn::Adam::kBeta2}},
      {"eps", nn::Adam::kEpsilon}, {"weight_decay", recipe.weight_decay},
      {"amsgrad", false},          {"maximize", false},
      {"foreach", PyValue()},      {"capturable", false},
      {"differentiable", false},   {"fused", PyValue()},
      {"params", numbers}};
  return PyDict{{"state", adam.steps == 0 ? PyDict() : state}, {"param_groups", PyList{group}}};
}

PyDict to_row(const EpochResult& epoch) {
  return PyDict{{"epoch", epoch.epoch},
                {"loss", epoch.loss},
                {"valid_acc", optional_value(epoch.valid_accuracy)},
                {"test_acc", optional_value(epoch.test_accuracy)},
                {"seconds", epoch.seconds},
                {"lr", epoch.lr}};
}

EpochResult epoch_of(const PyDict& row) {
  return {.epoch = count(row, "epoch"),
          .loss = row.get<double>("loss"),
          .valid_accuracy = optional_double(row, "valid_acc"),
          .test_accuracy = optional_double(row, "test_acc"),
          .seconds = row.get<double>("seconds"),
          .lr = row.get<double>("lr")};
}

// The series is made while it is written: the position must stay as it is until then.
PyValue to_value(const Position& position) {
  PyRows series{position.series.size(),
                [&position](size_t i) { return to_row(position.series[i]); }};
  return PyDict{{"epoch", position.epoch},
                {"batch", position.batch},
                {"loss_sum", position.loss_sum},
                {"seeds", position.seeds},
                {"epoch_seconds", position.epoch_seconds},
                {"total_seconds", position.total_seconds},
                {"lr_scale", position.lr_scale},
                {"worse_in_a_row", position.worse_in_a_row},
                {"plateau", position.plateau},
                {"best_epoch", position.best_epoch},
                {"best_valid_acc", optional_value(position.best_valid)},
                {"best_test_acc", optional_value(position.best_test)},
                {"best_loss", position.best_loss},
                {"series", std::move(series)}};
}

Position position_of(const PyDict& dict, std::vector<EpochResult> series) {
  Position position{.epoch = count(dict, "epoch"),
                    .batch = count(dict, "batch"),
                    .loss_sum = dict.get<double>("loss_sum"),
                    .seeds = count(dict, "seeds"),
                    .epoch_seconds = dict.get<double>("epoch_seconds"),
                    .total_seconds = dict.get<double>("total_seconds"),
                    .lr_scale = dict.get<double>("lr_scale"),
                    .worse_in_a_row = count(dict, "worse_in_a_row"),
                    .plateau = count(dict, "plateau"),
                    .best_epoch = count(dict, "best_epoch"),
                    .best_valid = optional_double(dict, "best_valid_acc"),
                    .best_test = optional_double(dict, "best_test_acc"),
                    .best_loss = dict.get<double>("best_loss"),
                    .series = std::move(series)};
  dict.get<PyList>("series");  // its rows were handed over while the file was read
  return position;
}

// Runs `work`, which reads values of `file`, and adds the file's name to its errors.
template <typename Work>
auto reading(const std::filesystem::path& file, const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    fail(error.kind(), "{}: {}", file.string(), error.what());
  } catch (const c10::Error& error) {
    fail(ErrorKind::input, "{}: {}", file.string(), error.what_without_backtrace());
  }
}

// Reads the tensor with that name in a dict of the file into `to`, which must have the same shape.
void read_checked(TorchFileReader& file, const PyDict& dict, const std::string& name,
                  const at::Tensor& to) {
  const StoredTensor& stored = dict.get<StoredTensor>(name);
  if (to.sizes() != at::IntArrayRef(stored.sizes)) {
    fail(ErrorKind::input, "{} has shape [{}], [{}] expected", name, fmt::join(stored.sizes, ", "),
         fmt::join(to.sizes(), ", "));
  }
  file.read_into(stored, to);
}

void read_adam(TorchFileReader& file, const nn::Model& model, nn::Adam& adam) {
  const PyDict& state = file.values().get<PyDict>("optimizer_state_dict").get<PyDict>("state");
  if (state.empty()) return;
  int64_t begin = 0;
  for (size_t i = 0; i < model.parameters().size(); ++i) {
    const at::Tensor& parameter = model.parameters()[i].tensor;
    const PyDict& entry = state.get<PyDict>(static_cast<int64_t>(i));
    const auto part = [&](const at::Tensor& flat) {
      return flat.narrow(0, begin, parameter.numel()).view(parameter.sizes());
    };
    read_checked(file, entry, "exp_avg", part(adam.mean));
    read_checked(file, entry, "exp_avg_sq", part(adam.square));
    adam.steps = file.load(entry.get<StoredTensor>("step")).item<int64_t>();
    begin += parameter.numel();
  }
}

}  // namespace

StoreIdentity identity_of(const graph::Store& store) {
  return {graph::dataset_name(store), graph::store_checksum(store)};
}

nn::ModelShape shape_of(const recipe::Recipe& recipe, const graph::Store& store) {
  return {.kind = recipe.model,
          .inputs = static_cast<int64_t>(store.meta().input_columns()),
          .hidden = static_cast<int64_t>(recipe.hidden),
          .classes = static_cast<int64_t>(store.meta().classes),
          .layers = static_cast<int64_t>(recipe.fanout.size()),
          .heads = static_cast<int64_t>(recipe.model == recipe::ModelKind::gat ? recipe.heads : 1),
          .dropout = recipe.dropout,
          .batch_norm = recipe.batch_norm};
}

std::string describe(const nn::ModelShape& shape) {
  std::string text = fmt::format("{} {}", recipe::name(shape.kind), shape.inputs);
  for (int64_t i = 1; i < shape.layers; ++i) text += fmt::format(" -> {}", shape.hidden);
  text += fmt::format(" -> {}", shape.classes);
  if (shape.heads > 1) text += fmt::format(", {} heads", shape.heads);
  if (shape.batch_norm) text += ", batch norm";
  return text;
}

PyDict make_checkpoint(const nn::Model& model, const nn::Adam& adam, const recipe::Recipe& recipe,
                       const StoreIdentity& store, const Position& position) {
  PyDict parameters;
  for (const nn::NamedTensor& entry : model.state()) {
    parameters[entry.name] = entry.tensor;
  }
  PyList neighbors;
  for (const uint32_t fanout : recipe.fanout) {
    neighbors.emplace_back(fanout == recipe::kAllNeighbors ? int64_t{-1} : int64_t{fanout});
  }
  static const EpochResult none;
  const EpochResult& last = position.series.empty() ? none : position.series.back();
  const nn::ModelShape& shape = model.shape();
  return PyDict{{"epoch", position.epoch},
                {"model_state_dict", parameters},
                {"optimizer_state_dict", optimizer_state(model, adam, recipe)},
                {"train_loss", last.loss},
                {"valid_acc", optional_value(last.valid_accuracy)},
                {"test_acc", optional_value(last.test_accuracy)},
                {"model", recipe::name(recipe.model)},
                {"hidden_dim", shape.hidden},
                {"dropout", shape.dropout},
                {"input_dim", shape.inputs},
                {"output_dim", shape.classes},
                {"num_layers", shape.layers},
                {"heads", shape.heads},
                {"batch_norm", shape.batch_norm},
                {"num_neighbors", neighbors},
                {"recipe", to_json(recipe).dump()},
                {"store", PyDict{{"name", store.name}, {"checksum", store.checksum}}},
                {"position", to_value(position)},
                {"plimsoll_checkpoint", kCheckpointVersion}};
}

Checkpoint read_checkpoint(const std::filesystem::path& file, memory::Ledger& ledger) {
  std::vector<EpochResult> series;
  const StreamedList streamed = {.keys = {"position", "series"},
                                 .row_bytes = sizeof(EpochResult),
                                 .take = [&](const PyDict& row, size_t rows) {
                                   if (series.empty()) series.reserve(rows);
                                   series.push_back(epoch_of(row));
                                 }};
  auto content = std::make_unique<TorchFileReader>(file, ledger, &streamed);
  const PyDict& dict = content->values();
  return reading(file, [&] {
    const PyValue* version = dict.find("plimsoll_checkpoint");
    if (version == nullptr) {
      fail(ErrorKind::input, "the key plimsoll_checkpoint is missing: Plimsoll did not write it");
    }
    if (version->as<int64_t>() != kCheckpointVersion) {
      fail(ErrorKind::input, "it has version {}, this program reads version {}",
           version->as<int64_t>(), kCheckpointVersion);
    }
    Checkpoint checkpoint{.recipe = recipe::parse(dict.get<std::string>("recipe"), "recipe")};
    const PyDict& store = dict.get<PyDict>("store");
    checkpoint.store = {store.get<std::string>("name"), store.get<std::string>("checksum")};
    checkpoint.shape = {.kind = checkpoint.recipe.model,
                        .inputs = dict.get<int64_t>("input_dim"),
                        .hidden = dict.get<int64_t>("hidden_dim"),
                        .classes = dict.get<int64_t>("output_dim"),
                        .layers = dict.get<int64_t>("num_layers"),
                        .heads = dict.get<int64_t>("heads"),
                        .dropout = dict.get<double>("dropout"),
                        .batch_norm = dict.get<bool>("batch_norm")};
    checkpoint.position = position_of(dict.get<PyDict>("position"), std::move(series));
    checkpoint.content = std::move(content);
    return checkpoint;
  });
}

void load_model(const Checkpoint& checkpoint, const std::filesystem::path& file, nn::Model& model) {
  reading(file, [&] {
    const PyDict& parameters = checkpoint.content->values().get<PyDict>("model_state_dict");
    for (const nn::NamedTensor& entry : model.state()) {
      read_checked(*checkpoint.content, parameters, entry.name, entry.tensor);
    }
  });
}

void load_adam(const Checkpoint& checkpoint, const std::filesystem::path& file,
               const nn::Model& model, nn::Adam& adam) {
  reading(file, [&] { read_adam(*checkpoint.content, model, adam); });
}

}  // namespace plimsoll::train
