#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scalar_tensor.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "train/torch_file.h"
#include "train/torch_file_fixture.h"

namespace plimsoll::train {
namespace {

using namespace std::string_literals;

const std::string kAllowedGlobals = R"(
import pickletools, zipfile
def check_globals(path):
    archive = zipfile.ZipFile(path)
    assert archive.testzip() is None
    for op, argument, _ in pickletools.genops(archive.read('archive/data.pkl')):
        assert op.proto <= 2, op.name
        if op.name == 'GLOBAL':
            module, name = argument.split(' ')
            assert (module, name) in [('torch._utils', '_rebuild_tensor_v2'),
                                      ('collections', 'OrderedDict')] or (
                module == 'torch' and name.endswith('Storage')), argument
check_globals('last.pth')
)";

TEST_F(TorchFile, IsReadByPython) {
  if (!has_python()) GTEST_SKIP() << "no python3 that can import torch";
  write_torch_file(path_,
                   PyDict{{"float", range(6, at::kFloat).reshape({2, 3})},
                          {"double", range(3, at::kDouble)},
                          {"half", range(3, at::kHalf)},
                          {"long", range(3, at::kLong)},
                          {"byte", range(3, at::kByte)},
                          {"bool", range(2, at::kBool)},
                          {"scalar", at::scalar_tensor(2.5)},
                          {"empty", at::empty({0, 3})},
                          {"transposed", range(6, at::kInt).reshape({2, 3}).t()},
                          {"numbers", PyList{1, -1, 300, 70000, int64_t{1} << 40,
                                             std::numeric_limits<int64_t>::min()}},
                          {"plain", PyList{PyValue(), true, false, "naïve", PyList(), PyDict()}},
                          {5, PyDict{{0, "int key"}}}});
  write_torch_file(folder_ / "floats.pth", PyDict{{"rate", 0.1}, {"inf", INFINITY}});
  expect_python(kAllowedGlobals + R"(
import torch
def check(d):
    wanted = {
        'float': torch.arange(6.).reshape(2, 3), 'double': torch.arange(3, dtype=torch.double),
        'half': torch.arange(3).half(), 'long': torch.arange(3), 'byte': torch.arange(3).byte(),
        'bool': torch.tensor([False, True]), 'scalar': torch.tensor(2.5),
        'empty': torch.empty(0, 3), 'transposed': torch.arange(6).int().reshape(2, 3).t()}
    for key, tensor in wanted.items():
        assert type(d[key]) is torch.Tensor and not d[key].requires_grad, key
        assert d[key].dtype == tensor.dtype and d[key].shape == tensor.shape, key
        assert torch.equal(d[key], tensor) and d[key].is_contiguous(), key
    assert d['numbers'] == [1, -1, 300, 70000, 2**40, -2**63]
    assert d['plain'] == [None, True, False, 'na\u00efve', [], {}]
    assert [type(v) for v in d['plain'][:3]] == [type(None), bool, bool]
    assert d[5] == {0: 'int key'}
    assert list(d) == list(wanted) + ['numbers', 'plain', 5]
check(torch.load('last.pth'))
newer = int(torch.__version__.split('.')[0]) >= 2
if newer: check(torch.load('last.pth', mmap=True))
check(torch.load('last.pth', weights_only=True))
# Only torch 2 lets a float through its careful unpickler.
floats = torch.load('floats.pth', weights_only=True) if newer else torch.load('floats.pth')
assert floats == {'rate': 0.1, 'inf': float('inf')}
)");
}

TEST_F(TorchFile, IsTheStateOfAPythonOptimizer) {
  if (!has_python()) GTEST_SKIP() << "no python3 that can import torch";
  PyDict state;
  for (int64_t i = 0; i < 2; ++i) {
    const std::vector<int64_t> sizes =
        i == 0 ? std::vector<int64_t>{3, 2} : std::vector<int64_t>{3};
    state[i] = PyDict{{"step", at::scalar_tensor(12.0)},
                      {"exp_avg", at::full(sizes, 0.25)},
                      {"exp_avg_sq", at::full(sizes, 0.5)}};
  }
  const PyDict group{{"lr", 0.01},          {"betas", PyList{0.9, 0.99}}, {"eps", 1e-8},
                     {"weight_decay", 0.0}, {"amsgrad", false},           {"params", PyList{0, 1}}};
  write_torch_file(path_, PyDict{{"state", state}, {"param_groups", PyList{group}}});
  expect_python(kAllowedGlobals + R"(
import torch
model = torch.nn.Linear(2, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1)
defaults = optimizer.state_dict()['param_groups'][0]
saved = torch.load('last.pth')
for group in saved['param_groups']:
    for key, value in defaults.items(): group.setdefault(key, value)
optimizer.load_state_dict(saved)
state = optimizer.state[model.weight]
assert state['step'] == 12 and torch.equal(state['exp_avg'], torch.full((3, 2), 0.25))
assert torch.equal(optimizer.state[model.bias]['exp_avg_sq'], torch.full((3,), 0.5))
assert optimizer.param_groups[0]['lr'] == 0.01
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
assert state['step'] == 13
)");
}

TEST_F(TorchFile, ReadsWhatPythonWrote) {
  if (!has_python()) GTEST_SKIP() << "no python3 that can import torch";
  expect_python(R"(
import torch
model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
with torch.no_grad():
    model[0].weight.copy_(torch.arange(6.).reshape(3, 2) / 7)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
model(torch.rand(4, 2)).sum().backward()
optimizer.step()
with torch.no_grad():
    model[0].weight.copy_(torch.arange(6.).reshape(3, 2) / 7)
shared = torch.arange(10)
torch.save({'model': model.state_dict(), 'optimizer': optimizer.state_dict(), 'epoch': 3,
            'best': 0.1, 'large': 2**62, 'tuple': (1, 'two', (3,)), 'none': None, 'yes': True,
            'half': torch.arange(3).half(), 'rng': torch.get_rng_state(), 'view': shared[2:8:2],
            'shared': shared, 'wide': torch.ones(1).expand(1000), 'empty': torch.empty(0, 3),
            'parameter': model[0].weight, 'many': list(range(3000))}, 'last.pth')
torch.save(torch.ones(2), 'tensor.pth')
torch.save(model, 'model.pth')
torch.save({'large': 2**63}, 'large.pth')
torch.save({'a': 1}, 'legacy.pth', _use_new_zipfile_serialization=False)
torch.jit.script(torch.nn.Linear(2, 3)).save('script.pth')
)");
  const PyDict got = read_torch_file(path_, ledger_);
  const PyDict& model = got.get<PyDict>("model");
  Names keys;
  for (const auto& [key, value] : model) keys.push_back(std::get<std::string>(key));
  EXPECT_EQ(keys, (Names{"0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean",
                         "1.running_var", "1.num_batches_tracked"}));
  const at::Tensor weight = range(6, at::kFloat).reshape({3, 2}).div(7);
  expect_same(model.get<at::Tensor>("0.weight"), weight);
  expect_same(got.get<at::Tensor>("parameter"), weight);
  expect_same(model.get<at::Tensor>("1.num_batches_tracked"), at::ones({}, at::kLong));
  const PyDict& optimizer = got.get<PyDict>("optimizer");
  EXPECT_EQ(optimizer.get<PyDict>("state").size(), 4U);
  EXPECT_EQ(optimizer.get<PyDict>("state").get<PyDict>(0).get<at::Tensor>("exp_avg").sizes(),
            weight.sizes());
  EXPECT_EQ(optimizer.get<PyList>("param_groups").at(0).as<PyDict>().get<double>("lr"), 0.01);
  EXPECT_EQ(got.get<int64_t>("epoch"), 3);
  EXPECT_EQ(got.get<double>("best"), 0.1);
  EXPECT_EQ(got.get<int64_t>("large"), int64_t{1} << 62);
  EXPECT_EQ(got.get<PyList>("tuple").at(1).as<std::string>(), "two");
  EXPECT_TRUE(got.at("none").is_none());
  EXPECT_TRUE(got.get<bool>("yes"));
  expect_same(got.get<at::Tensor>("half"), range(3, at::kHalf));
  EXPECT_EQ(got.get<at::Tensor>("rng").scalar_type(), at::kByte);
  expect_same(got.get<at::Tensor>("view"), range(10, at::kLong).slice(0, 2, 8, 2));
  expect_same(got.get<at::Tensor>("wide"), at::ones({1000}));
  expect_same(got.get<at::Tensor>("empty"), at::empty({0, 3}));
  EXPECT_EQ(got.get<PyList>("many").size(), 3000U);

  const auto expect_refused_file = [&](const char* name, const std::string& why) {
    expect_error(ErrorKind::input, {name, why}, [&] { read_torch_file(folder_ / name, ledger_); });
  };
  expect_refused_file("tensor.pth", "of type Tensor, a dict was expected");
  expect_refused_file("model.pth", "refers to torch.nn.modules.container.Sequential");
  expect_refused_file("large.pth", "int of 9 bytes");
  expect_refused_file("legacy.pth", "torch before 1.6");
  expect_refused_file("script.pth", "refers to __torch__");
}

}  // namespace
}  // namespace plimsoll::train
