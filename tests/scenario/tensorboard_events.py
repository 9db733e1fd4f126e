"""tensorboard_events.py FOLDER: prints what TensorBoard's event files of a folder say, read by Google's
protobuf library from descriptions of our own: `step TAG VALUE` for each scalar, then the hyperparameters.
Ends with an error where a checksum is wrong or a file ends within a record. Exits with 77 where there is no
protobuf."""
import pathlib
import struct
import sys

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, struct_pb2
except ImportError:
    print("skipped: no python3-protobuf")
    sys.exit(77)

T = descriptor_pb2.FieldDescriptorProto
KINDS = {"double": T.TYPE_DOUBLE, "float": T.TYPE_FLOAT, "int64": T.TYPE_INT64, "int32": T.TYPE_INT32,
         "string": T.TYPE_STRING, "bytes": T.TYPE_BYTES}
# name, number, type, repeated
MESSAGES = {
    "Event": [("wall_time", 1, "double"), ("step", 2, "int64"), ("file_version", 3, "string"),
              ("summary", 5, "Summary"), ("session_log", 7, "SessionLog")],
    "SessionLog": [("status", 1, "int32")],
    "Summary": [("value", 1, "Value", True)],
    "Value": [("tag", 1, "string"), ("simple_value", 2, "float"), ("metadata", 9, "SummaryMetadata")],
    "SummaryMetadata": [("plugin_data", 1, "PluginData")],
    "PluginData": [("plugin_name", 1, "string"), ("content", 2, "bytes")],
    "HParamsPluginData": [("version", 1, "int32"), ("experiment", 2, "Experiment"),
                          ("session_start_info", 3, "SessionStartInfo"), ("session_end_info", 4, "SessionEndInfo")],
    "Experiment": [("time_created_secs", 3, "double"), ("hparam_infos", 4, "HParamInfo", True),
                   ("metric_infos", 5, "MetricInfo", True)],
    "HParamInfo": [("name", 1, "string"), ("type", 4, "int32")],
    "MetricInfo": [("name", 1, "MetricName")],
    "MetricName": [("group", 1, "string"), ("tag", 2, "string")],
    "SessionStartInfo": [("hparams", 1, "HParamEntry", True), ("group_name", 4, "string"),
                         ("start_time_secs", 5, "double")],
    "HParamEntry": [("key", 1, "string"), ("value", 2, ".google.protobuf.Value")],
    "SessionEndInfo": [("status", 1, "int32"), ("end_time_secs", 2, "double")],
}


def make_classes():
    file = descriptor_pb2.FileDescriptorProto(name="events.proto", package="t", syntax="proto3",
                                              dependency=["google/protobuf/struct.proto"])
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field_name, number, kind, *repeated in fields:
            field = message.field.add(name=field_name, number=number,
                                      label=T.LABEL_REPEATED if repeated else T.LABEL_OPTIONAL)
            if kind in KINDS:
                field.type = KINDS[kind]
            else:
                field.type = T.TYPE_MESSAGE
                field.type_name = kind if kind.startswith(".") else ".t." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(struct_pb2.DESCRIPTOR.serialized_pb)
    pool.Add(file)
    factory = message_factory.MessageFactory(pool)
    return {name: factory.GetPrototype(pool.FindMessageTypeByName("t." + name)) for name in MESSAGES}


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    data = path.read_bytes()
    while data:
        size, size_crc = struct.unpack("<QI", data[:12])
        if masked(data[:8]) != size_crc:
            sys.exit(f"{path}: the checksum of a length is wrong")
        payload, rest = data[12:12 + size], data[12 + size:]
        if len(payload) < size or len(rest) < 4 or masked(payload) != struct.unpack("<I", rest[:4])[0]:
            sys.exit(f"{path}: the checksum of a record is wrong")
        yield payload
        data = rest[4:]


classes = make_classes()
for path in sorted(pathlib.Path(sys.argv[1]).glob("*tfevents*")):
    for number, payload in enumerate(records(path)):
        event = classes["Event"].FromString(payload)
        if number == 0:
            if event.file_version != "brain.Event:2":
                sys.exit(f"{path} does not begin with its version")
            continue
        if event.session_log.status:
            print("session", {1: "start", 2: "stop"}[event.session_log.status], event.step)
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name != "hparams":
                print(event.step, value.tag, f"{value.simple_value:.4f}")
                continue
            content = classes["HParamsPluginData"].FromString(value.metadata.plugin_data.content)
            print(value.tag)
            for info in content.experiment.hparam_infos:
                print("  hparam", info.name, info.type)
            for info in content.experiment.metric_infos:
                print("  metric", info.name.tag)
            for entry in content.session_start_info.hparams:
                kind = entry.value.WhichOneof("kind")
                print("  value", entry.key, getattr(entry.value, kind))
            if content.HasField("session_end_info"):
                print("  status", content.session_end_info.status)
