//! The signatures that come with the engine: every file of `data/signatures`.

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        pub(super) const FILES: &[(&str, &str)] =
            &[$(($name, include_str!(concat!("../../../../data/signatures/", $name, ".json")))),+];
    };
}

files![
    "arrow",
    "ceph",
    "gguf",
    "gloo",
    "grpc-inference",
    "grpc-tensor",
    "grpc-tensorflow",
    "hccl",
    "hdf5",
    "hdfs-rpc",
    "http-dataset",
    "http-inference",
    "iscsi",
    "lustre",
    "nccl",
    "nfs",
    "npy",
    "nvme-tcp",
    "open-mpi",
    "parquet",
    "postgresql-replication",
    "ray",
    "rsync",
    "s3",
    "safetensors",
    "smb",
    "tar",
    "tcpstore",
    "torch-save",
    "ucx",
];
